/** The ledger's side of a message port: feeds the engine and sends answers back in groups. */

import type {
  BooksAnswer,
  BooksQuestion,
  CommandAnswer,
  CommandMessage,
  LedgerMessage,
} from '../../billing/ledger/client.ts';
import type { Engine } from '../../billing/ledger/engine.ts';
import { AppError } from '../../contract/errors.ts';

export interface HostPort {
  /** A LedgerMessage as JSON. */
  postMessage(message: string): void;
  /** Receives a CommandMessage or a BooksQuestion as JSON. */
  onmessage: ((event: MessageEvent<string>) => void) | null;
}

/** @param books answers what is asked of the books of several machines. */
export function hostLedger(
  engine: Engine,
  port: HostPort,
  books: ((question: BooksQuestion) => Promise<BooksAnswer>) | null = null,
): void {
  let ids: number[] = [];
  let answers: CommandAnswer[] = [];
  const reply = () => {
    port.postMessage(JSON.stringify({ kind: 'answers', ids, answers } satisfies LedgerMessage));
    ids = [];
    answers = [];
  };
  port.onmessage = (event) => {
    const data = JSON.parse(event.data) as CommandMessage | BooksQuestion;
    if (data.kind !== 'commands') {
      void books?.(data).then((answer) => port.postMessage(JSON.stringify(answer)));
      return;
    }
    for (const [index, command] of data.commands.entries()) {
      engine.submit(command, (result) => {
        ids.push(data.first + index);
        answers.push(
          result instanceof AppError
            ? String(result.params.reason ?? result.message)
            : result.status === 'done'
              ? null
              : result,
        );
        if (ids.length === 1) queueMicrotask(reply);
      });
    }
  };
}
