//! What keys and the mouse ask for.

use super::draw::hit;
use super::state::{Button, Event, Knob, State};
use ratatui::crossterm::event::{
    Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent,
    MouseEventKind,
};
use ratatui::layout::Rect;

/// Steps of a key that moves a slider farther.
const FAR: i32 = 4;
/// Lines of findings.
const LINES: i32 = 5;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked {
    Event(Event),
    /// The screen has another size, or was written on by another program.
    Redraw,
}

pub(super) fn asked(state: &State, area: Rect, input: &Input) -> Option<Asked> {
    match input {
        Input::Key(key) => pressed(*key),
        Input::Mouse(mouse) => pointed(state, area, *mouse).map(Asked::Event),
        Input::Resize(..) => Some(Asked::Redraw),
        _ => None,
    }
}

fn pressed(key: KeyEvent) -> Option<Asked> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let has = |modifier| key.modifiers.contains(modifier);
    if has(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(Asked::Event(Event::Quit)),
            KeyCode::Char('l') => Some(Asked::Redraw),
            _ => None,
        };
    }
    let step = if has(KeyModifiers::SHIFT) { FAR } else { 1 };
    Some(Asked::Event(match key.code {
        KeyCode::Tab | KeyCode::Down => Event::Choose { forward: true },
        KeyCode::BackTab | KeyCode::Up => Event::Choose { forward: false },
        KeyCode::Right => Event::Change(step),
        KeyCode::Left => Event::Change(-step),
        KeyCode::PageUp => Event::Change(FAR),
        KeyCode::PageDown => Event::Change(-FAR),
        KeyCode::Esc => Event::Back,
        KeyCode::Char(letter) => of_letter(letter)?,
        _ => return None,
    }))
}

fn of_letter(letter: char) -> Option<Event> {
    Some(match letter {
        'j' => Event::Press(Button::Sideload),
        'J' => Event::Press(Button::Sysload),
        'c' => Event::Press(Button::OtherJob),
        'm' => Event::Press(Button::Measure),
        's' => Event::Press(Button::Save),
        'n' => Event::Turn { forward: true },
        'p' => Event::Turn { forward: false },
        'l' => Event::Log,
        'f' => Event::Findings,
        'g' => Event::Set(Knob::Goal, 1.0),
        'r' => Event::Reset,
        'q' => Event::Quit,
        '[' => Event::Scroll(-LINES),
        ']' => Event::Scroll(LINES),
        '1'..='9' => Event::Page(letter as usize - '1' as usize),
        _ => return None,
    })
}

fn pointed(state: &State, area: Rect, mouse: MouseEvent) -> Option<Event> {
    let event = || hit(state, area, (mouse.column, mouse.row));
    match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => event(),
        // A slider follows; a button is pressed once.
        MouseEventKind::Drag(MouseButton::Left) => {
            event().filter(|e| matches!(e, Event::Set(Knob::Load | Knob::Headroom, _)))
        }
        MouseEventKind::ScrollUp => Some(Event::Scroll(-LINES)),
        MouseEventKind::ScrollDown => Some(Event::Scroll(LINES)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: KeyCode, modifiers: KeyModifiers) -> Option<Asked> {
        pressed(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_do_what_the_bottom_line_says() {
        let plain = |code| match of(code, KeyModifiers::NONE) {
            Some(Asked::Event(event)) => Some(event),
            _ => None,
        };
        assert_eq!(plain(KeyCode::Right), Some(Event::Change(1)));
        assert_eq!(plain(KeyCode::PageDown), Some(Event::Change(-FAR)));
        assert_eq!(plain(KeyCode::Tab), Some(Event::Choose { forward: true }));
        assert_eq!(plain(KeyCode::Char('6')), Some(Event::Page(5)));
        assert_eq!(
            plain(KeyCode::Char('J')),
            Some(Event::Press(Button::Sysload))
        );
        assert_eq!(plain(KeyCode::Char('x')), None);
        let quit = Some(Asked::Event(Event::Quit));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), quit);
        assert_eq!(of(KeyCode::Char('q'), KeyModifiers::CONTROL), None);
        let far = Some(Asked::Event(Event::Change(-FAR)));
        assert_eq!(of(KeyCode::Left, KeyModifiers::SHIFT), far);
    }
}
