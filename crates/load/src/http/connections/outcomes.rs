//! What becomes of requests and their places after a connection advanced.

use super::super::conn::{Due, InFlight, Outcome, Phase};
use super::{Completion, Connections, MOST_REFUSED, OpenPolicy, Place};
use crate::tally::Failure;

impl Connections {
    /// Updates the queues after a connection that was in `phase` advanced.
    pub(super) fn apply(
        &mut self,
        index: usize,
        phase: Phase,
        outcome: Outcome,
    ) -> Option<Completion> {
        match outcome {
            Outcome::Nothing => None,
            Outcome::More => {
                self.queue_more(index);
                None
            }
            Outcome::Established => {
                self.established(index);
                None
            }
            Outcome::Answered {
                stream,
                answer,
                age,
                reusable,
                more,
            } => {
                let ended = self.end_request(index, stream)?;
                self.update_policy(index, reusable);
                self.free(
                    Place {
                        conn: index,
                        stream,
                    },
                    reusable,
                );
                if more {
                    self.queue_more(index);
                }
                Some(Completion::Answered {
                    due: ended.due,
                    kind: ended.kind,
                    answer,
                    age,
                })
            }
            Outcome::Lost(failure) => self.fail(index, phase, failure),
            alone => self.without_answer(index, alone),
        }
    }

    /// A request on a connection of HTTP/2 gets no answer, or was not sent.
    fn without_answer(&mut self, index: usize, outcome: Outcome) -> Option<Completion> {
        match outcome {
            Outcome::Failed { stream, failure } => {
                let reusable = self.conns[index].takes_more();
                let ended = self.end_alone(index, stream, reusable)?;
                Some(failed(ended, failure))
            }
            Outcome::Refused { stream } => {
                let ended = self.end_alone(index, stream, false)?;
                self.send_again(ended)
            }
            Outcome::NotSent { stream } => {
                let is_new = !self.conns[index].has_answered;
                let ended = self.end_alone(index, stream, false)?;
                if is_new {
                    return self.send_again(ended);
                }
                self.refused.push_front(ended.due);
                None
            }
            Outcome::Full { stream } => {
                let ended = self.end_request(index, stream)?;
                self.conns[index].parked.push(stream);
                self.refused.push_front(ended.due);
                None
            }
            // These concern a connection.
            Outcome::Nothing
            | Outcome::More
            | Outcome::Established
            | Outcome::Answered { .. }
            | Outcome::Lost(_) => None,
        }
    }

    /// Ends a request without an answer, while its connection may go on.
    fn end_alone(&mut self, index: usize, stream: usize, reusable: bool) -> Option<InFlight> {
        let ended = self.end_request(index, stream)?;
        self.free(
            Place {
                conn: index,
                stream,
            },
            reusable,
        );
        self.queue_more(index);
        Some(ended)
    }

    fn established(&mut self, index: usize) {
        self.opening -= 1;
        self.set_failing(index, false);
        self.deadlines.clear(self.first_slot(index));
        // Neighbours in the queue are on different connections, as far as these are free.
        let others = self.idle.len().div_ceil(self.streams);
        for stream in 0..self.streams {
            let at = (stream * (others + 1) + others).min(self.idle.len());
            self.idle.insert(
                at,
                Place {
                    conn: index,
                    stream,
                },
            );
        }
    }

    fn end_request(&mut self, index: usize, stream: usize) -> Option<InFlight> {
        let slot = self.slot(Place {
            conn: index,
            stream,
        });
        self.deadlines.clear(slot);
        self.conns[index].requests[stream].take()
    }

    /// A place has no request any more. A connection that takes no further ones is closed with its
    /// last; until then another stands in for it.
    fn free(&mut self, place: Place, reusable: bool) {
        if reusable {
            return self.idle.push_back(place);
        }
        self.forget_idle(place.conn);
        let conn = &mut self.conns[place.conn];
        if conn.phase != Phase::Open {
            return;
        }
        if conn.requests.iter().all(Option::is_none) {
            conn.close();
            return self.closed_or_back_off(place.conn);
        }
        if !conn.is_replaced
            && let Some(other) = self.stand_ins.pop()
        {
            conn.is_replaced = true;
            self.closed(other);
        }
    }

    /// A connection that never answered may be closed again at once.
    fn closed_or_back_off(&mut self, index: usize) {
        match self.conns[index].has_answered {
            true => self.closed(index),
            false => self.back_off(index),
        }
    }

    /// Takes the free places of a connection away.
    fn forget_idle(&mut self, index: usize) {
        for _ in 0..self.streams {
            // Servers close the longest idle first: it is near the front.
            match self.idle.iter().position(|place| place.conn == index) {
                Some(at) => self.idle.remove(at),
                None => return,
            };
        }
    }

    fn send_again(&mut self, request: InFlight) -> Option<Completion> {
        let due = Due {
            refused: request.due.refused + 1,
            ..request.due
        };
        if due.refused > MOST_REFUSED {
            return Some(failed(request, Failure::Reset));
        }
        self.refused.push_back(due);
        None
    }

    /// Adapts the policy to an answer: the server keeps connections, or it
    /// closed this one after its first answer. A server that closes a
    /// connection after many answers keeps them.
    fn update_policy(&mut self, index: usize, reusable: bool) {
        let conn = &mut self.conns[index];
        conn.was_answered = true;
        let first = !std::mem::replace(&mut conn.has_answered, true);
        if reusable {
            self.policy = OpenPolicy::InAdvance;
        } else if first {
            self.policy = OpenPolicy::OnDemand;
        }
    }

    pub(super) fn fail(
        &mut self,
        index: usize,
        phase: Phase,
        failure: Failure,
    ) -> Option<Completion> {
        self.conns[index].close();
        let mut lost = Vec::new();
        for stream in 0..self.streams {
            let ended = self.end_request(index, stream);
            lost.extend(ended.map(|ended| failed(ended, failure)));
        }
        match phase {
            Phase::Closed => None,
            Phase::Connecting | Phase::Securing => {
                self.opening -= 1;
                self.set_failing(index, true);
                self.back_off(index);
                Some(Completion::NotOpened(failure))
            }
            Phase::Open => {
                self.forget_idle(index);
                // No back-off where there is a request for each attempt.
                match lost.is_empty() {
                    true => self.closed_or_back_off(index),
                    false => self.closed(index),
                }
                self.ended.extend(lost);
                self.ended.pop_front()
            }
        }
    }

    /// A closed connection may be opened again.
    pub(super) fn closed(&mut self, index: usize) {
        if std::mem::take(&mut self.conns[index].is_replaced) {
            return self.stand_ins.push(index);
        }
        match self.clock.rests() {
            true => self.resting.push_back(index),
            false => self.to_open.push_back(index),
        }
    }

    fn back_off(&mut self, index: usize) {
        let until = self.clock.now_ns() + self.back_off_ns;
        self.deadlines.set(self.first_slot(index), until);
    }

    fn set_failing(&mut self, index: usize, failing: bool) {
        let was = std::mem::replace(&mut self.conns[index].failing, failing);
        self.failing = self.failing + usize::from(failing) - usize::from(was);
    }

    fn queue_more(&mut self, index: usize) {
        if !std::mem::replace(&mut self.conns[index].queued, true) {
            self.more.push_back(index);
        }
    }
}

fn failed(request: InFlight, failure: Failure) -> Completion {
    Completion::Failed {
        due: request.due,
        kind: request.kind,
        failure,
    }
}
