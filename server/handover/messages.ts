/** What two servers of one data folder say to each other while the second takes the first one's place: a line of JSON each, over a socket in the folder. */
import type { Socket } from 'node:net';
import type { CommandAnswer, CommandMessage } from '../billing/ledger/client.ts';
import type { TaskCallAnswer } from '../relay/endpoints/tasks/calls.ts';
import type { ToControl } from '../threads/control/messages.ts';
import type { OpenMoney } from './open-requests.ts';

/** Servers of another number speak otherwise, or of other commands: they cannot follow each other. */
export const protocolVersion = 1;

export type FromNewProcess =
  | { readonly kind: 'hello'; readonly dialect: number; readonly pid: number }
  /** Let go of the database. */
  | { readonly kind: 'release' }
  /** It has loaded everything, and needs the open requests before it admits any. */
  | { readonly kind: 'ready' }
  /** It listens on the port, and at `door` for requests that still reach the other's connections. */
  | { readonly kind: 'open'; readonly door: string }
  /** A third server has followed this one: what still reaches the first goes there at once. */
  | { readonly kind: 'moved'; readonly door: string }
  /** This one must stop: what is open there is ended and billed now. Builds from before this message do not know it. */
  | { readonly kind: 'hurry' }
  | { readonly kind: 'answers'; readonly ids: readonly number[]; readonly answers: readonly CommandAnswer[] }
  | ({ readonly kind: 'taskAnswered' } & TaskCallAnswer);

export type FromOldProcess =
  | {
      readonly kind: 'welcome';
      readonly dialect: number;
      readonly pid: number;
      readonly port: number;
      /** On that port. */
      readonly listeners: number;
    }
  | { readonly kind: 'released' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** Open requests there: first all of them, then updates. */
  | { readonly kind: 'open money'; readonly open: OpenMoney }
  | CommandMessage
  | { readonly kind: 'control'; readonly message: ToControl }
  /** It no longer listens on the port. */
  | { readonly kind: 'port left' }
  /** All has ended and is paid. */
  | { readonly kind: 'gone' };

export interface Line<Out> {
  send(message: Out): void;
  end(): void;
}

/** @param ended called once, by whichever side ended it. */
export function openLine<In, Out>(socket: Socket, receive: (message: In) => void, ended: () => void): Line<Out> {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) receive(JSON.parse(line) as In);
  });
  socket.on('error', () => undefined);
  socket.once('close', ended);
  return {
    send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
    end: () => void socket.end(),
  };
}
