/** Realtime conversations: the same steps as other requests, carried by the first channel that opens a socket. */
import { AppError } from '../../../contract/errors.ts';
import { requestsTranscription } from '../../../routing/endpoint.ts';
import type { Gate } from '../../admission/gate.ts';
import { Reservation } from '../../admission/reservation.ts';
import { planFor, type ReserveCore, reserve } from '../../admission/reserve.ts';
import { finishFailed, type Refusal } from '../../delivery/settle.ts';
import type { Authorize } from '../../intake/authorize.ts';
import { checkModelName } from '../../intake/members.ts';
import {
  inServingGroup,
  type ParsedRequest,
  type Peer,
  type Principal,
  requestWithoutBody,
} from '../../intake/parsed-request.ts';
import type { RequestIds } from '../../intake/request-id.ts';
import type { AttemptSummary } from '../../shared/failure.ts';
import type { RelayState } from '../../state/state.ts';
import { ClientDisconnect } from '../../upstream/client-disconnect.ts';
import type { Connect, Line } from '../../upstream/line.ts';
import type { Prepared } from '../../upstream/prepare.ts';
import { type FailedAttempt, type SendCore, Sender } from '../../upstream/send.ts';
import { type Conversation, type ConversationCore, RealtimeConversation } from './conversation.ts';

export interface RealtimeCore extends ReserveCore, SendCore, ConversationCore {
  readonly state: ConversationCore['state'] & ReserveCore['state'] & Pick<RelayState, 'candidates'>;
  readonly authorize: Authorize;
  readonly gate: Gate;
  readonly connect: Connect;
  readonly requestIds: RequestIds;
}

/** The request, with its steps that are the same for every endpoint. */
export interface RealtimeRequest {
  readonly request: Request;
  readonly requestId: string;
  readonly startedMs: number;
  parsed: ParsedRequest | null;
  /** @throws AppError token_*, user_disabled, overloaded. */
  identify(): Principal;
  pass(principal: Principal, free: boolean): void | Promise<void>;
  /** Plan and reserve. */
  reserve(parsed: ParsedRequest, principal: Principal): Reservation | Promise<Reservation>;
}

interface Reached {
  readonly kind: 'line';
  readonly line: Line;
  readonly prepared: Prepared;
  readonly attempts: readonly AttemptSummary[];
}

/** Opens a socket upstream. */
class SocketSender extends Sender<Reached> {
  constructor(
    private readonly realtimeCore: RealtimeCore,
    reservation: Reservation,
  ) {
    super(realtimeCore, reservation, new ClientDisconnect(reservation.parsed.request.signal, 0, realtimeCore.timers));
  }

  protected async attempt(prepared: Prepared, abort: AbortController): Promise<Reached | FailedAttempt> {
    const line = await this.realtimeCore.connect(prepared.call, abort);
    return 'socket' in line
      ? { kind: 'line', line, prepared, attempts: this.attempts }
      : { failure: line, hasResponse: false };
  }
}

/** Under which a session that names its model later is let in and finds its channel: the same as of transcripts of files. */
const usualTranscriber = 'whisper-1';

/** @returns the conversation, or the refusal of it. @throws AppError why it is not let in. */
export async function openConversation(
  core: RealtimeCore,
  incoming: RealtimeRequest,
  peer: Peer,
): Promise<Conversation | Refusal> {
  const { request, requestId, startedMs } = incoming;
  const caller = incoming.identify();
  // An error cannot be sent as a response once the socket is open.
  const address = peer.ip();
  const transcribes = requestsTranscription(request.url);
  const model = new URL(request.url).searchParams.get('model') || (transcribes ? usualTranscriber : '');
  if (model === '') throw new AppError('model_missing');
  checkModelName(model);
  const principal = inServingGroup(core.state, caller, model);
  const parsed = requestWithoutBody(request, { requestId, startedMs, operation: 'realtime', model });
  incoming.parsed = parsed;
  await incoming.pass(principal, false);
  const reservation = await incoming.reserve(parsed, principal);
  const reached = await new SocketSender(core, reservation).send();
  if (reached.kind === 'failed')
    return finishFailed(reservation, reached, { clientGone: request.signal.aborted, stopped: null });
  try {
    return new RealtimeConversation(core, {
      ...reached,
      reservation: reservation,
      principal,
      peer: { ip: () => address },
      protocol: offered(request).includes('realtime') ? 'realtime' : '',
      transcribes,
      reserve: (caller, writer) =>
        reserveWriter(core, request, { ...caller, pinnedChannel: reached.prepared.channel.id }, writer),
    });
  } catch (error) {
    reached.line.socket.close();
    throw error;
  }
}

/** A bill of its own for a model that writes down what is said. @throws AppError as plan and reserve do. */
function reserveWriter(
  core: RealtimeCore,
  request: Request,
  principal: Principal,
  model: string,
): Reservation | Promise<Reservation> {
  const details = {
    requestId: core.requestIds.next(),
    startedMs: core.now(),
    operation: 'transcriptions',
    model,
  } as const;
  const parsed = { ...requestWithoutBody(request, details), stream: true };
  const admission = core.gate.part(principal, details);
  const reject = (error: unknown): never => {
    core.gate.rollBack(admission);
    throw error;
  };
  try {
    core.authorize.allowModel(principal, model);
    const plan = planFor(core, parsed, principal, false);
    const reservation = new Reservation(core, { parsed, principal, plan, admission, free: false, owner: null });
    const waiting = reserve(core, reservation);
    return waiting === undefined ? reservation : waiting.then(() => reservation, reject);
  } catch (error) {
    return reject(error);
  }
}

const offered = (request: Request): string[] =>
  (request.headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
