/** The ledger as others see it from their own thread: commands of one event-loop turn travel as one message, so do the answers. */
import { AppError } from '../contract/errors.ts';
import type { BalanceEvent, Ledger, LedgerCommand, LedgerResult } from './commands.ts';
import type { Health } from './engine.ts';

export interface CommandMessage {
  readonly kind: 'commands';
  /** Number of the first command; the rest follow in order. */
  readonly first: number;
  readonly commands: readonly LedgerCommand[];
}

/** null stands for {status: 'done'}, text for a storage failure. */
export type Answer = LedgerResult | string | null;

export type LedgerMessage =
  | { readonly kind: 'answers'; readonly ids: readonly number[]; readonly answers: readonly Answer[] }
  | { readonly kind: 'health'; readonly health: Health }
  | BalanceEvent;

/** The parts of Worker and MessagePort used here. */
export interface LedgerPort {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent<string | { readonly kind: string }>) => void) | null;
}

export interface LedgerClient extends Ledger {
  onBalance(listener: (event: BalanceEvent) => void): void;
}

const done: LedgerResult = { status: 'done' };

/** @param other receives messages that are not the ledger's protocol (a worker's start-up report). */
export function createLedgerClient(
  port: LedgerPort,
  other: (message: unknown) => void = () => undefined,
): LedgerClient {
  let next = 1;
  let outgoing: LedgerCommand[] = [];
  let health: Health = { ok: true };
  const listeners: ((event: BalanceEvent) => void)[] = [];
  const waiting = new Map<
    number,
    { readonly resolve: (result: LedgerResult) => void; readonly reject: (error: AppError) => void }
  >();

  const send = () => {
    const message: CommandMessage = { kind: 'commands', first: next - outgoing.length, commands: outgoing };
    outgoing = [];
    // As text: cloning the objects costs three times as much as writing and reading JSON.
    port.postMessage(JSON.stringify(message));
  };

  port.onmessage = (event) => {
    if (typeof event.data !== 'string') return other(event.data);
    const data = JSON.parse(event.data) as LedgerMessage;
    if (data.kind === 'answers') {
      let index = 0;
      for (const id of data.ids) {
        const answer = data.answers[index++];
        const call = waiting.get(id);
        waiting.delete(id);
        if (typeof answer === 'string') call?.reject(new AppError('storage_unavailable', { reason: answer }));
        else call?.resolve(answer ?? done);
      }
    } else if (data.kind === 'health') health = data.health;
    else for (const listener of listeners) listener(data);
  };

  return {
    execute(command) {
      const id = next++;
      const { promise, resolve, reject } = Promise.withResolvers<LedgerResult>();
      waiting.set(id, { resolve, reject });
      outgoing.push(command);
      // A microtask would run after each single answer of the same turn and send every command alone.
      if (outgoing.length === 1) setImmediate(send);
      return promise;
    },
    healthy: () => health,
    onBalance: (listener) => void listeners.push(listener),
  };
}
