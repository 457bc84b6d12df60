//! A link is switched on and gets its address over rtnetlink, with the layouts of
//! linux/netlink.h, linux/rtnetlink.h and linux/if_addr.h. An ioctl would need unsafe code.

use crate::Failure;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netdevice, recv, send, socket};
use std::io;
use std::net::Ipv4Addr;

const NLMSG_ERROR: u16 = 2;
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
/// NLM_F_REQUEST and NLM_F_ACK.
const REQUEST: u16 = 1 | 4;
const IFF_UP: u32 = 1;
const AF_INET: u8 = 2;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// Bytes of a message's header.
const HEADER: usize = 16;

/// Switches a link on, with an address and the length of its network's prefix.
pub(crate) fn bring_up(link: &str, address: Option<(Ipv4Addr, u8)>) -> Result<(), Failure> {
    let netlink = socket(AddressFamily::NETLINK, SocketType::RAW, None);
    let netlink = netlink.map_err(Failure::of("netlink"))?;
    let index = netdevice::name_to_index(&netlink, link).map_err(Failure::of(link))?;
    let add = address.map(|(address, prefix)| new_address(index, address, prefix));
    for message in [Some(link_up(index)), add].into_iter().flatten() {
        send(&netlink, &message, SendFlags::empty()).map_err(Failure::of(link))?;
        let mut answer = [0; 1024];
        let received = recv(&netlink, &mut answer, RecvFlags::empty());
        let (bytes, _) = received.map_err(Failure::of(link))?;
        let result = acknowledged(answer.get(..bytes).unwrap_or_default());
        result.map_err(Failure::of(link))?;
    }
    Ok(())
}

fn link_up(index: u32) -> Vec<u8> {
    // struct ifinfomsg: family, padding and type are 0.
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    // The flags, and which of them are meant.
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    message(RTM_NEWLINK, &body)
}

fn new_address(index: u32, address: Ipv4Addr, prefix: u8) -> Vec<u8> {
    // struct ifaddrmsg: no flags, scope 0 (everywhere).
    let mut body = vec![AF_INET, prefix, 0, 0];
    body.extend(index.to_ne_bytes());
    for kind in [IFA_LOCAL, IFA_ADDRESS] {
        body.extend(8_u16.to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(address.octets());
    }
    message(RTM_NEWADDR, &body)
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    // Bodies here are a few bytes long.
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(kind.to_ne_bytes());
    out.extend(REQUEST.to_ne_bytes());
    // The sequence number and the port, of which one conversation needs none.
    out.extend([0; 8]);
    out.extend(body);
    out
}

/// Whether the kernel did as it was told.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|b| b.try_into().ok());
    let error = answer
        .get(HEADER..HEADER + 4)
        .and_then(|b| b.try_into().ok());
    match (kind.map(u16::from_ne_bytes), error.map(i32::from_ne_bytes)) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::Error::other("the kernel did not acknowledge a message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_long_as_it_says_and_names_the_link() {
        let address = new_address(3, Ipv4Addr::new(10, 0, 2, 15), 24);
        assert_eq!(address.len(), 40);
        assert_eq!(address[..4], 40_u32.to_ne_bytes());
        assert_eq!(address[4..6], RTM_NEWADDR.to_ne_bytes());
        assert_eq!(address[16..20], [2, 24, 0, 0]);
        assert_eq!(address[20..24], 3_u32.to_ne_bytes());
        assert_eq!(address[28..32], [10, 0, 2, 15]);
        assert_eq!(link_up(3).len(), 32);
    }

    #[test]
    fn the_kernel_acknowledges_or_says_why_not() {
        let answer = |kind: u16, error: i32| {
            let mut bytes = message(kind, &error.to_ne_bytes());
            bytes.extend([0; 16]);
            acknowledged(&bytes)
        };
        assert!(answer(NLMSG_ERROR, 0).is_ok());
        let error = answer(NLMSG_ERROR, -19).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(19));
        assert!(answer(RTM_NEWLINK, 0).is_err());
        assert!(acknowledged(&[]).is_err());
    }

    #[test]
    fn the_kernel_takes_these_messages() {
        // It is on already; without the right to change it, it is refused for that reason alone.
        let refused = match bring_up("lo", None) {
            Ok(()) => return,
            Err(Failure(why)) => why,
        };
        assert!(refused.contains("not permitted"), "{refused}");
    }
}
