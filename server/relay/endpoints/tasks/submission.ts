/** What drawings and songs share: how their work is ordered, paid and complained about. */
import { storedText } from '../../../contract/stored-texts.ts';
import { parseJson, record } from '../../../protocols/shared/json.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { Admit } from '../../admission/admit.ts';
import type { Exchange } from '../../admission/exchange.ts';
import type { Gates } from '../../admission/gate.ts';
import type { Admission } from '../../admission/limits.ts';
import { finishBroken, finishFailed, finishRequest, type Refusal } from '../../delivery/finish-request.ts';
import type { Authorise } from '../../intake/authorise.ts';
import type { Inquiry, Principal } from '../../intake/inquiry.ts';
import { redact, type Tried, type UpstreamFailure } from '../../shared/failure.ts';
import type { RelayState } from '../../state/state.ts';
import { neverSent } from '../../upstream/cause.ts';
import { createDeparture } from '../../upstream/client-disconnect.ts';
import type { Prepared } from '../../upstream/prepare.ts';
import { type AttemptsDeps, type CandidatesDeps, eachChannel, send } from '../../upstream/try-channels.ts';
import { readWhole } from '../../upstream/whole.ts';
import type { TaskStore } from './store.ts';

export interface TasksDeps extends CandidatesDeps, Pick<AttemptsDeps, 'dispatch' | 'token'> {
  readonly state: RelayState;
  readonly authorise: Authorise;
  readonly admit: Admit;
  readonly gates: Pick<Gates, 'withdraw' | 'ended'>;
  readonly store: TaskStore;
  /** For pictures that lie in the open. */
  readonly fetch: typeof fetch;
  readonly bodyLimit: number;
  /** The body of a request has arrived. */
  readonly heard: (request: Request) => void;
}

/** What a submission needs besides its own rules. */
export interface Submission {
  readonly inquiry: Inquiry;
  readonly principal: Principal;
  readonly body: Readonly<Record<string, unknown>>;
  /** As it passed the gate; null from `admitOrder` on. */
  admission: Admission | null;
}

/** Lets an order in, pinned to the channel of the work that it continues. @throws AppError as `Admit` does. */
export function admitOrder(
  deps: Pick<TasksDeps, 'admit'>,
  submission: Submission,
  asked: Inquiry,
  pinnedChannel: number | null,
): Exchange | Promise<Exchange> {
  const { admission, principal } = submission;
  submission.admission = null;
  return deps.admit(asked, pinnedChannel === null ? principal : { ...principal, pinnedChannel }, admission);
}

/** A complaint in the form of these interfaces. */
export const complaint = (status: number, code: number, description: string): Response =>
  Response.json({ code, description, type: 'new_api_error' }, { status });

export const callTimeoutMs = 60_000;

/** What an upstream said about an order. */
export interface TaskAnswer {
  readonly kind: 'told';
  readonly prepared: Prepared;
  readonly tried: readonly Tried[];
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

type Calls = Pick<TasksDeps, 'dispatch' | 'token' | 'now'>;

/** One call. Whoever takes too long, or answers what nobody understands, may have begun the work all the same. */
export async function askForTask(
  deps: Calls,
  prepared: Prepared,
  abort: AbortController,
): Promise<Pick<TaskAnswer, 'status' | 'body'> | UpstreamFailure> {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    abort.abort();
  }, callTimeoutMs);
  const broken = (status: number | null, reason: UpstreamFailure['reason']): UpstreamFailure => ({
    ...{ class: 'host', status, error: null, retryAfter: null, reason },
    ordered: true,
  });
  try {
    const result = await send(deps, prepared, abort);
    if (result.kind === 'failure') {
      if (late) return broken(null, 'timeout');
      const { failure } = result;
      const heard = failure.reason === 'unreachable' && !neverSent(failure.error);
      return heard ? { ...failure, ordered: true } : failure;
    }
    const { response } = result;
    const bytes = await readWhole(response, callTimeoutMs, abort);
    if (bytes === null) return broken(response.status, late ? 'timeout' : 'broken');
    const body = record(parseJson(redact(new TextDecoder().decode(bytes), prepared.channel.keys)));
    return body === null ? broken(response.status, 'invalid') : { status: response.status, body };
  } finally {
    clearTimeout(timer);
  }
}

/** What the order came to, and how the caller is told where it came to nothing. */
export interface Ordered<T> {
  /** Paid by the piece, or not at all. */
  readonly paid: boolean;
  readonly action: string;
  readonly value: T;
  /** Why nothing came of it, in the upstream's words. */
  readonly complaint: string;
}

/**
 * Orders work at the first channel that takes it; its money ends by what `judge` makes of the answer.
 * The client may leave: work goes on, and is paid.
 */
export async function orderTask<T>(
  deps: TasksDeps,
  exchange: Exchange,
  judge: (answer: TaskAnswer) => Ordered<T>,
): Promise<{ readonly answer: TaskAnswer; readonly value: T } | Refusal> {
  try {
    const departure = createDeparture(new AbortController().signal, 0);
    const outcome = await eachChannel<TaskAnswer>(deps, exchange, departure, async (prepared, tried, abort) => {
      const told = await askForTask(deps, prepared, abort);
      return 'body' in told ? { kind: 'told', prepared, tried, ...told } : { failure: told, answered: false };
    });
    if (outcome.kind === 'failed') return await finishFailed(exchange, outcome, { gone: false, stopped: null });
    const { paid, action, value, complaint: words } = judge(outcome);
    // Money first: a row without its charge would be a gift, a charge without its row is refunded by nobody.
    await finishRequest(exchange, outcome.prepared, {
      endReason: paid ? 'completed' : 'upstream_failed',
      usage: paid ? { ...emptyUsage, input: 1 } : null,
      usageSource: paid ? 'reported' : 'none',
      firstByteMs: deps.now(),
      tried: outcome.tried,
      content: paid || words === '' ? storedText('taskOrdered', { action }) : words,
    });
    return { answer: outcome, value };
  } catch (error) {
    await finishBroken(exchange, error);
    throw error;
  }
}
