/** The ledger of a server that another one follows: its commands go to the other's, one by one, in order. */
import { AppError } from '../../contract/errors.ts';
import type { CommandAnswer, CommandMessage } from './client.ts';
import type { LedgerCommand, LedgerResult } from './commands.ts';
import type { Engine } from './engine.ts';

export interface Remote extends Engine {
  /** From here on commands are sent, first those that have waited. */
  open(send: (message: CommandMessage) => void): void;
  receive(ids: readonly number[], responses: readonly CommandAnswer[]): void;
  /** The other side is gone; commands without an answer stay unanswered. */
  fail(reason: string): void;
  /** Gives everything that has no answer to another. */
  yield(engine: Engine): void;
}

interface Waiting {
  readonly command: LedgerCommand;
  readonly done: (result: LedgerResult | AppError) => void;
}

/** @param lost called when the other side is gone. */
export function createRemote(lost: (reason: string) => void): Remote {
  const waiting = new Map<number, Waiting>();
  let next = 1;
  let failure: string | null = null;
  let send: ((message: CommandMessage) => void) | null = null;
  const done: LedgerResult = { status: 'done' };
  return {
    submit(command, answer) {
      const id = next++;
      waiting.set(id, { command, done: answer });
      if (failure === null) send?.({ kind: 'commands', first: id, commands: [command] });
    },
    health: () => (failure === null ? { ok: true } : { ok: false, reason: failure }),
    drain: () => Promise.resolve(),
    open(sender) {
      send = sender;
      for (const [id, { command }] of waiting) sender({ kind: 'commands', first: id, commands: [command] });
    },
    receive(ids, responses) {
      for (const [at, id] of ids.entries()) {
        const answer = responses[at];
        const pending = waiting.get(id);
        waiting.delete(id);
        pending?.done(
          typeof answer === 'string'
            ? new AppError('storage_unavailable', { reason: answer, seconds: 5 })
            : (answer ?? done),
        );
      }
    },
    fail(reason) {
      failure = reason;
      lost(reason);
    },
    yield(engine) {
      for (const { command, done: answer } of waiting.values()) engine.submit(command, answer);
      waiting.clear();
    },
  };
}
