/** The ledger's side of a message port: feeds the engine and sends answers back in groups. */

import type {
  CommandAnswer,
  CommandMessage,
  FlushRequest,
  LedgerMessage,
  LedgerRequest,
  LedgerResponse,
} from '../../billing/ledger/client.ts';
import type { Engine } from '../../billing/ledger/engine.ts';
import { AppError } from '../../contract/errors.ts';

export interface HostPort {
  /** A LedgerMessage as JSON. */
  postMessage(message: string): void;
  /** Receives a CommandMessage, a LedgerRequest or a FlushRequest as JSON. */
  onmessage: ((event: MessageEvent<string>) => void) | null;
}

/** The runtime's types leave open what a port carries. */
export const hostPortOf = (port: object): HostPort => port as unknown as HostPort;

/** @param state answers queries to the ledger of several machines. @param flush absent = what is acknowledged can be read at once. */
export function hostLedger(
  engine: Engine,
  port: HostPort,
  state: ((question: LedgerRequest) => Promise<LedgerResponse>) | null = null,
  flush: (done: (isWhole: boolean) => void) => void = (done) => done(true),
): void {
  let ids: number[] = [];
  let responses: CommandAnswer[] = [];
  const reply = () => {
    port.postMessage(JSON.stringify({ kind: 'answers', ids, answers: responses } satisfies LedgerMessage));
    ids = [];
    responses = [];
  };
  port.onmessage = (event) => {
    const data = JSON.parse(event.data) as CommandMessage | LedgerRequest | FlushRequest;
    if (data.kind === 'flush') {
      const { id } = data;
      return flush((isWhole) =>
        port.postMessage(JSON.stringify({ kind: 'flushed', id, isWhole } satisfies LedgerMessage)),
      );
    }
    if (data.kind !== 'commands') {
      void state?.(data).then((answer) => port.postMessage(JSON.stringify(answer)));
      return;
    }
    for (const [index, command] of data.commands.entries()) {
      engine.submit(command, (result) => {
        ids.push(data.first + index);
        responses.push(
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
