/** Realtime conversations: admitted like any request, and carried by the first channel that opens a socket. */
import { AppError } from '../../../contract/errors.ts';
import type { Admit } from '../../admission/admit.ts';
import type { Exchange } from '../../admission/exchange.ts';
import type { Gates } from '../../admission/gate.ts';
import { finishBroken, finishFailed, type Refusal } from '../../delivery/finish-request.ts';
import { inquiryFor } from '../../intake/bare-inquiry.ts';
import type { Peer } from '../../intake/inquiry.ts';
import { checkModelName } from '../../intake/members.ts';
import type { Tried } from '../../shared/failure.ts';
import { createDeparture } from '../../upstream/client-disconnect.ts';
import type { Connect, Line } from '../../upstream/line.ts';
import type { Prepared } from '../../upstream/prepare.ts';
import { type CandidatesDeps, eachChannel } from '../../upstream/try-channels.ts';
import { type Conversation, type ConverseDeps, converse } from './conversation.ts';

export interface RealtimeDeps extends Omit<ConverseDeps, 'ended'>, CandidatesDeps {
  readonly admit: Admit;
  readonly gates: Pick<Gates, 'paid' | 'part'>;
  readonly connect: Connect;
  readonly nextId: () => string;
  /** Called once when the conversation is over. */
  readonly ended: () => void;
}

interface Reached {
  readonly kind: 'line';
  readonly line: Line;
  readonly prepared: Prepared;
  readonly tried: readonly Tried[];
}

export function createRealtime(deps: RealtimeDeps) {
  const reach = (exchange: Exchange, request: Request) =>
    eachChannel<Reached>(deps, exchange, createDeparture(request.signal, 0), async (prepared, tried, abort) => {
      const line = await deps.connect(prepared.call, abort);
      return 'socket' in line ? { kind: 'line', line, prepared, tried } : { failure: line, answered: false };
    });
  /** @returns the conversation, or the refusal of it. @throws AppError why it is not let in. */
  return async (request: Request, requestId: string, peer: Peer): Promise<Conversation | Refusal> => {
    const principal = deps.authorise.identify(request, peer);
    // Nobody can say it any more once the socket is open.
    const address = peer.ip();
    const model = new URL(request.url).searchParams.get('model') ?? '';
    if (model === '') throw new AppError('model_missing');
    checkModelName(model);
    const facts = { requestId, startedMs: deps.now(), operation: 'realtime', model } as const;
    const exchange = await deps.admit(inquiryFor(request, facts), principal, await deps.gates.paid(principal, facts));
    try {
      const reached = await reach(exchange, request);
      if (reached.kind === 'failed')
        return await finishFailed(exchange, reached, { gone: request.signal.aborted, stopped: null });
      return converse(deps, {
        ...reached,
        exchange,
        principal,
        peer: { ip: () => address },
        protocol: offered(request).includes('realtime') ? 'realtime' : '',
        admit: (caller, writer) => {
          const own = {
            requestId: deps.nextId(),
            startedMs: deps.now(),
            operation: 'transcriptions',
            model: writer,
          } as const;
          const pinned = { ...caller, pinnedChannel: reached.prepared.channel.id };
          const admission = deps.gates.part(pinned, own);
          return deps.admit({ ...inquiryFor(request, own), stream: true }, pinned, admission);
        },
      });
    } catch (error) {
      await finishBroken(exchange, error);
      throw error;
    }
  };
}

const offered = (request: Request): string[] =>
  (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
