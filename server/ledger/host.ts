/** The ledger's side of a message port: feeds the engine and sends answers back in groups. */
import { AppError } from '../contract/errors.ts';
import type { Answer, CommandMessage, LedgerMessage } from './client.ts';
import type { Engine } from './engine.ts';

export interface HostPort {
  postMessage(message: LedgerMessage): void;
  onmessage: ((event: MessageEvent<CommandMessage>) => void) | null;
}

export function hostLedger(engine: Engine, port: HostPort): void {
  let ids: number[] = [];
  let answers: Answer[] = [];
  const reply = () => {
    port.postMessage({ kind: 'answers', ids, answers });
    ids = [];
    answers = [];
  };
  port.onmessage = ({ data }) => {
    for (const [index, command] of data.commands.entries()) {
      engine.submit(command, (result) => {
        ids.push(data.first + index);
        answers.push(result instanceof AppError ? String(result.params.reason ?? result.message) : result.status === 'done' ? null : result);
        if (ids.length === 1) queueMicrotask(reply);
      });
    }
  };
}
