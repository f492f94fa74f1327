/** Common ways of drawings and songs: how their work is ordered, paid and refused. */
import { storedText } from '../../../contract/stored-texts.ts';
import { sleep } from '../../../contract/timers.ts';
import { parseJson, record } from '../../../protocols/shared/json.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { RequestWatch } from '../../admission/observer.ts';
import type { Reservation } from '../../admission/reservation.ts';
import { finishFailed, finishRequest, type Refusal } from '../../delivery/settle.ts';
import type { Authorize } from '../../intake/authorize.ts';
import type { BodyHolder } from '../../intake/body-memory.ts';
import type { ParsedRequest, Principal } from '../../intake/parsed-request.ts';
import { type AttemptSummary, neverSent, redact, type UpstreamFailure } from '../../shared/failure.ts';
import type { RelayState } from '../../state/state.ts';
import { ClientDisconnect } from '../../upstream/client-disconnect.ts';
import type { Prepared } from '../../upstream/prepare.ts';
import { type FailedAttempt, type SendCore, Sender, send } from '../../upstream/send.ts';
import { readWhole } from '../../upstream/whole.ts';
import type { TaskStore } from './store.ts';

export interface TasksCore extends SendCore {
  readonly state: RelayState;
  readonly authorize: Authorize;
  readonly tasks: TaskStore;
  /** For pictures that lie in the open. */
  readonly fetch: typeof fetch;
  readonly bodyLimit: number;
  readonly watch: RequestWatch | null;
}

/** The request, with its steps that are the same for every endpoint. */
export interface TaskRequest extends BodyHolder {
  readonly request: Request;
  readonly requestId: string;
  /** @throws AppError token_*, user_disabled, overloaded. */
  identify(): Principal;
  /** @throws AppError why the caller is refused before the order is read. */
  pass(principal: Principal, free: boolean): void | Promise<void>;
  /** A request that is refused from here on never ran. */
  orderRead(): void;
  /** Plan and reserve. */
  reserve(parsed: ParsedRequest, principal: Principal): Reservation | Promise<Reservation>;
}

/** An order that was read. */
export interface Submission {
  readonly incoming: TaskRequest;
  readonly parsed: ParsedRequest;
  readonly principal: Principal;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Plan and reserve, pinned to the channel of the work that it continues. @throws AppError */
export const reserveOrder = (
  { incoming, principal }: Submission,
  requested: ParsedRequest,
  pinnedChannel: number | null,
): Reservation | Promise<Reservation> =>
  incoming.reserve(requested, pinnedChannel === null ? principal : { ...principal, pinnedChannel });

/** A complaint in the form of these interfaces. */
export const taskError = (status: number, code: number, description: string): Response =>
  Response.json({ code, description, type: 'new_api_error' }, { status });

export const callTimeoutMs = 60_000;
/** As long as a database may be away at a failover. */
const keepAttempts = 20;
const keepPauseMs = 1000;

/** An upstream's response to an order. */
export interface TaskAnswer {
  readonly kind: 'answered';
  readonly prepared: Prepared;
  readonly attempts: readonly AttemptSummary[];
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One call. An upstream that takes too long, or sends an unreadable answer, may have begun the work all the same. */
export async function askForTask(
  core: TasksCore,
  prepared: Prepared,
  abort: AbortController,
): Promise<Pick<TaskAnswer, 'status' | 'body'> | UpstreamFailure> {
  let timedOut = false;
  const timer = core.timers.set(() => {
    timedOut = true;
    abort.abort();
  }, callTimeoutMs);
  const broken = (status: number | null, reason: UpstreamFailure['reason']): UpstreamFailure => ({
    ...{ class: 'host', status, error: null, retryAfter: null, reason },
    ordered: true,
  });
  try {
    const result = await send(core, prepared, abort);
    if (result.kind === 'failure') {
      if (timedOut) return broken(null, 'timeout');
      const { failure } = result;
      const received = failure.reason === 'unreachable' && !neverSent(failure.error);
      return received ? { ...failure, ordered: true } : failure;
    }
    const { response } = result;
    const bytes = await readWhole(response, callTimeoutMs, abort, core.deadlines);
    if (bytes === null) return broken(response.status, timedOut ? 'timeout' : 'broken');
    const body = record(parseJson(redact(new TextDecoder().decode(bytes), prepared.channel.keys)));
    return body === null ? broken(response.status, 'invalid') : { status: response.status, body };
  } finally {
    timer.close();
  }
}

/** Orders of work: the upstream is called once, and accepts or refuses. */
class TaskSender extends Sender<TaskAnswer> {
  constructor(
    private readonly tasksCore: TasksCore,
    reservation: Reservation,
  ) {
    // The client may disconnect: work continues, and is charged.
    super(tasksCore, reservation, new ClientDisconnect(new AbortController().signal, 0, tasksCore.timers));
  }

  protected async attempt(prepared: Prepared, abort: AbortController): Promise<TaskAnswer | FailedAttempt> {
    const response = await askForTask(this.tasksCore, prepared, abort);
    return 'body' in response
      ? { kind: 'answered', prepared, attempts: this.attempts, ...response }
      : { failure: response, hasResponse: false };
  }
}

/** The outcome of the order, and the caller's error where it failed. */
export interface Ordered<T> {
  /** Paid by the piece, or not at all. */
  readonly paid: boolean;
  readonly action: string;
  readonly value: T;
  /** Why nothing came of it, in the upstream's words. */
  readonly reason: string;
}

/** Orders work at the first channel that takes it; its money ends by what `judge` makes of the answer. */
export async function orderTask<T>(
  core: TasksCore,
  reservation: Reservation,
  judge: (answer: TaskAnswer) => Ordered<T>,
): Promise<{ readonly answer: TaskAnswer; readonly value: T } | Refusal> {
  const outcome = await new TaskSender(core, reservation).send();
  if (outcome.kind === 'failed') return finishFailed(reservation, outcome, { clientGone: false, stopped: null });
  const { paid, action, value, reason: words } = judge(outcome);
  // Money first: a row without its charge would be a gift, a charge without its row would never be refunded.
  await finishRequest(reservation, outcome.prepared, {
    endReason: paid ? 'completed' : 'upstream_failed',
    usage: paid ? { ...emptyUsage, input: Math.ceil(reservation.parsed.order?.work?.priceFactor ?? 1) } : null,
    usageSource: paid ? 'reported' : 'none',
    firstByteMs: core.now(),
    attempts: outcome.attempts,
    content: paid || words === '' ? storedText('taskOrdered', { action }) : words,
  });
  return { answer: outcome, value };
}

/**
 * Keeps the row of work that is ordered and paid for: the upstream does it, so a store that is away is asked again. What cannot be kept is
 * given back, since nobody could fetch it. @throws AppError storage_unavailable.
 */
export async function keepRow(core: TasksCore, reservation: Reservation, keep: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await keep();
    } catch (error) {
      if (attempts >= keepAttempts) {
        await reservation.refund();
        throw error;
      }
    }
    await sleep(core.timers, keepPauseMs);
  }
}
