/** Sends a request upstream: which channel and key are tried next and how often (retry policy, fallback), how long a first byte may take (timeout), and what failures say about channels. */
import { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { Timers } from '../../contract/timers.ts';
import { maxChainCalls } from '../../contract/virtual-models.ts';
import type { Usage } from '../../protocols/canonical.ts';
import type { Compared } from '../../protocols/shared/cache-diagnosis.ts';
import type { Adapter, AuthInput } from '../../providers/adapter.ts';
import { rejectsSignature } from '../../providers/knowledge/signature.ts';
import type { Candidates } from '../../routing/candidates.ts';
import type { CacheWatch } from '../admission/cache-watch.ts';
import type { Reservation } from '../admission/reservation.ts';
import { type Affinity, conversationKey } from '../routing/affinity.ts';
import type { FirstBytes } from '../routing/first-bytes.ts';
import { callerOf, type Health, type KeyChoice } from '../routing/health.ts';
import type { LearntMembers, Trial } from '../routing/learnt-members.ts';
import type { ShortWait, ShortWaits } from '../routing/short-waits.ts';
import type { Deadlines } from '../shared/deadline.ts';
import { asAppError, isOurs, type Reporter } from '../shared/defect.ts';
import {
  type AttemptSummary,
  failedAttempt,
  isPermanent,
  mayRetry,
  type UpstreamFailure,
  unreachable,
  withKeywords,
  writtenIn,
} from '../shared/failure.ts';
import type { RelayState } from '../state/state.ts';
import { complainsOfDiagnosis } from './cache-diagnosis.ts';
import type { UpstreamCall } from './call.ts';
import { codeOf } from './cause.ts';
import type { ClientDisconnect } from './client-disconnect.ts';
import type { NativeCompactions } from './compact.ts';
import { type Dispatch, exhaustion, type UpstreamAnswer } from './http.ts';
import { type Prepared, plainVariant, prepare, type Variant } from './prepare.ts';
import { trialAfter } from './refused-request.ts';

/** The shared parts that all requests of a relay send with. */
export interface SendCore extends Reporter {
  readonly dispatch: Dispatch;
  readonly now: () => number;
  readonly timers: Timers;
  readonly deadlines: Deadlines;
  readonly state: Pick<RelayState, 'settings'>;
  readonly health: Health;
  readonly shortWaits: ShortWaits;
  readonly firstBytes: FirstBytes;
  readonly token: AuthInput['token'];
  readonly affinity: Affinity;
  readonly compactions: NativeCompactions;
  readonly learnt: LearntMembers;
  readonly cacheWatch: CacheWatch;
  /** Notes what is worked on from here on. */
  readonly works: (requestId: string) => void;
  /** Milliseconds an upstream may be silent. */
  idleMs(channel?: ChannelSnapshot): number;
}

export interface Failed {
  readonly kind: 'failed';
  /** Set when the request itself cannot be carried over to any upstream. */
  readonly error: AppError | null;
  readonly failure: UpstreamFailure | null;
  readonly last: ChannelSnapshot | null;
  readonly attempts: readonly AttemptSummary[];
  readonly left: Left | null;
  /** Every channel was tried, and each would refuse the same request again. */
  readonly final: boolean;
}

/** The client left when the upstream had taken the request and sent no content yet. */
export interface Left {
  readonly prepared: Prepared;
  readonly usage: Usage | null;
  /** Headers of a good answer had come. */
  readonly answered: boolean;
}

/** Why an attempt failed, and whether the upstream had begun to answer. */
export interface FailedAttempt {
  readonly failure: UpstreamFailure;
  readonly hasResponse: boolean;
}

/** Responses that are still being delivered: their result is reported at the end. */
const goesOn: ReadonlySet<string> = new Set(['stream', 'bytes']);
const missing = 404;

/** Whose upstreams refuse to be asked why their cache was missed; a channel that was changed is another object. */
const undiagnosed = new WeakSet<ChannelSnapshot>();

/** The one loop over channels and keys for all kinds of requests: chat, tasks and sockets differ in their attempt alone. */
export abstract class Sender<T extends { readonly kind: string }> {
  /** Attempts so far, in order. */
  readonly attempts: AttemptSummary[] = [];
  private failure: UpstreamFailure | null = null;
  private last: ChannelSnapshot | null = null;
  private left: Left | null = null;
  /** Thoughts that upstreams did not sign are left out. */
  private unsigned = false;
  /** The one attempt without a member that the upstream refused. */
  private trial: Trial | null = null;
  /** Its upstream complained of our question; remembered for others once it takes the request without it. */
  private unasked: ChannelSnapshot | null = null;
  /** No refusal so far was one that time may heal. */
  private allPermanent = true;
  /** Why the first target that could not be covered was not tried. */
  private unpaid: AppError | null = null;
  /** Another key of the last channel is ready. */
  private hasSpareKey = false;

  /** Attempts that the retry policy allows. */
  private allowed: number;
  private readonly limited: boolean;
  /** Calls that a request may make in all. */
  private readonly most: number;
  /** Attempts at the targets before this one. */
  private beforeTarget = 0;
  /** The one attempt beyond the option was used. */
  private extraGranted = false;
  /** Milliseconds that it waited for keys. */
  private pausedMs = 0;
  /** Position in the list of candidates; it may go round. */
  private position = 0;
  /** Milliseconds that an upstream may be silent. */
  protected idleMs: number;

  constructor(
    protected readonly core: SendCore,
    protected readonly reservation: Reservation,
    protected readonly disconnect: ClientDisconnect,
  ) {
    // A refused socket costs nothing: every channel may be tried.
    this.limited = reservation.parsed.operation !== 'realtime';
    this.allowed = this.triesOf(reservation);
    this.most = reservation.chain === null ? Number.POSITIVE_INFINITY : maxChainCalls;
    this.idleMs = core.idleMs();
  }

  /** Quota that the request may cost at most at a channel: more than what it was let in with is held before it is tried there. */
  protected maxAt(_channel: ChannelSnapshot, _key: KeyChoice): number {
    return this.reservation.max;
  }

  /** One call. What it throws is a defect of ours, or says why no channel can serve the request. @param call ends it. @returns what can be worked with, or why not. */
  protected abstract attempt(prepared: Prepared, call: AbortController): Promise<T | FailedAttempt>;

  /** Tries channels and keys until one can be worked with; then those of a chain's next target. Never rejects. */
  send(): Promise<T | Failed> {
    return this.reservation.chain === null ? this.sendToTarget() : this.sendToChain();
  }

  private async sendToChain(): Promise<T | Failed> {
    let sent = await this.sendToTarget();
    while (sent.kind === 'failed' && (await this.nextTarget(sent as Failed))) sent = await this.sendToTarget();
    return sent;
  }

  /** Nothing of an answer has gone out by now. @returns whether the reservation is another target's. */
  private async nextTarget({ error, failure, left }: Failed): Promise<boolean> {
    const { reservation, disconnect, attempts } = this;
    if (error !== null || left !== null || disconnect.isDisconnected || disconnect.upstream.aborted) return false;
    if (attempts.length >= maxChainCalls || (await reservation.chain?.goOn(reservation, failure)) !== true)
      return false;
    if (disconnect.isDisconnected || disconnect.upstream.aborted) return false;
    this.failure = null;
    this.last = null;
    this.unsigned = false;
    this.allPermanent = true;
    this.hasSpareKey = false;
    this.extraGranted = false;
    this.position = 0;
    this.beforeTarget = attempts.length;
    this.allowed = attempts.length + this.triesOf(reservation);
    return true;
  }

  /** Why its caller may make no further call: the one before it may have taken minutes. @returns null = the caller may. */
  private refusal(): AppError | null {
    if (this.attempts.length === 0) return null;
    const { reservation } = this;
    try {
      reservation.owner?.renew(reservation);
      return null;
    } catch (error) {
      return asAppError(error);
    }
  }

  private triesOf({ plan }: Reservation): number {
    return this.limited ? Math.max(1, plan.settings.retryTimes + 1) : Number.POSITIVE_INFINITY;
  }

  private async sendToTarget(): Promise<T | Failed> {
    const { core, disconnect, reservation } = this;
    const { parsed, plan } = reservation;
    for (let channel = this.nextChannel(); channel !== null; channel = this.nextChannel()) {
      this.idleMs = core.idleMs(channel);
      let again = true;
      while (again && this.mayGoOn()) {
        const pause = this.pauseFor(channel);
        if (pause !== null) {
          await this.waitFor(pause);
          if (!this.mayGoOn()) break;
        }
        const refused = this.refusal();
        if (refused !== null) return this.failed(refused);
        const key = plan.keepsKey ? this.keptKey(channel) : core.health.pickKey(channel, parsed.model);
        const max = this.maxAt(channel, key);
        const variant = this.variantFor(channel, key);
        // Evidence is of what this channel is usually sent.
        const isWhole = !variant.unsigned && !variant.summary && this.trial === null;
        const covering = reservation.coverTarget(max, isWhole ? { channel, key: key.key } : null);
        let uncovered: AppError | null;
        try {
          uncovered = covering instanceof Promise ? await covering : covering;
        } catch (error) {
          return this.failed(asAppError(error));
        }
        if (uncovered !== null) {
          this.unpaid ??= uncovered;
          reservation.noteSkipped(channel, max, uncovered);
          break;
        }
        // It may have waited for what lies on other machines.
        if (!this.mayGoOn()) break;
        const prepared = prepare(parsed, channel, key, plan.settings, variant);
        if (prepared instanceof AppError) return this.failed(prepared);
        if (prepared === null) break;
        this.attempts.push({ channelId: channel.id, name: channel.name, failed: null });
        this.last = channel;
        const requestedMs = core.now();
        reservation.sent(core.timers.monoNow());
        const call = disconnect.begin(channel);
        core.health.begin(channel, parsed.model, key.index);
        let reached: T | FailedAttempt;
        try {
          reached = await this.attempt(prepared, call);
        } catch (error) {
          // No channel is to blame for it, and the next one would meet the same.
          call.abort();
          core.health.released(channel, parsed.model);
          return this.failed(asAppError(error));
        }
        if ('kind' in reached) {
          core.firstBytes.note(channel.id, prepared.upstreamModel, prepared.streams, core.now() - requestedMs);
          if (!goesOn.has(reached.kind)) core.health.succeeded(channel, parsed.model, key.index);
          if (plan.conversation !== null)
            core.affinity.store(plan.conversation, channel.id, plan.keepsKey ? key.index : -1);
          if (this.unasked === channel) undiagnosed.add(channel);
          const { trial } = this;
          if (trial?.channelId === channel.id && trial.model === prepared.upstreamModel)
            core.learnt.succeeded(trial, reservation.principal.user.id, this.conversation());
          reservation.chain?.served();
          return reached;
        }
        if (disconnect.upstream.aborted) {
          core.health.released(channel, parsed.model);
          if (this.isOwed(reached, prepared, requestedMs))
            this.left = { prepared, usage: reached.failure.usage ?? null, answered: reached.hasResponse };
        }
        // Ended by us, or the client left: no channel is to blame.
        if (disconnect.upstream.aborted) break;
        const next = this.afterFailure(reached.failure, prepared, core.now() - requestedMs);
        if (next === 'end') return this.failed();
        again = next === 'same channel';
      }
      if (!this.mayGoOn()) break;
    }
    return this.failed();
  }

  /**
   * Whether the client pays for a call that was ended because it left: the upstream had begun to answer, or had been given the
   * request and was not silent for so long that anybody would have left.
   */
  private isOwed(
    { failure, hasResponse }: FailedAttempt,
    { channel, upstreamModel, streams }: Prepared,
    sentMs: number,
  ): boolean {
    const { core, disconnect } = this;
    if (!disconnect.isDisconnected || disconnect.cutBy() !== null) return false;
    if (hasResponse) return true;
    if (failure.sent !== true) return false;
    const waitedMs = (disconnect.leftMs ?? core.now()) - sentMs;
    return waitedMs <= core.firstBytes.hangsAfterMs(channel.id, upstreamModel, streams);
  }

  private failed(error: AppError | null = null): Failed {
    const { failure, last, attempts, left } = this;
    if (error !== null) this.core.report(error, this.reservation.parsed.requestId);
    const final = failure !== null && this.allPermanent && !this.hasSpareKey && this.allRateLimited();
    return {
      kind: 'failed',
      error: error ?? (failure === null ? this.unpaid : null),
      failure,
      last,
      attempts,
      left,
      final,
    };
  }

  /** Classifies the failure for channel and key, and decides what is tried next. */
  private afterFailure(original: UpstreamFailure, prepared: Prepared, ms: number) {
    const { core, reservation } = this;
    const { channel, keyIndex } = prepared;
    const { parsed, plan } = reservation;
    const failure = withKeywords(original, plan.settings.disableKeywords, () =>
      writtenIn(parsed.body, parsed.json?.text ?? '', parsed.request),
    );
    this.failure = failure;
    this.attempts[this.attempts.length - 1] = {
      channelId: channel.id,
      name: channel.name,
      failed: failedAttempt(failure, ms),
    };
    this.allPermanent &&= isPermanent(failure);
    core.health.failed(channel, parsed.model, keyIndex, failure, callerOf(reservation.principal));
    const retries = mayRetry(failure);
    if (retries) core.affinity.evict(plan.conversation, channel.id);
    // A conversation that was begun elsewhere goes on without its thoughts, once.
    if (!this.unsigned && failure.class === 'client' && rejectsThoughts(failure)) {
      this.unsigned = true;
      this.allowed++;
      return 'same channel';
    }
    if (prepared.asked !== null && failure.class === 'client' && complainsOfDiagnosis(failure, prepared.asked)) {
      this.unasked = channel;
      this.allowed++;
      return 'same channel';
    }
    const trial = retries || this.trial !== null ? null : trialAfter(core.learnt, reservation, prepared, failure);
    if (trial !== null) {
      this.trial = trial;
      this.allowed++;
      return 'same channel';
    }
    if (!retries) return 'end';
    this.hasSpareKey = failure.class === 'key' && core.health.hasSpareKey(channel, parsed.model);
    this.allowExtra();
    return this.hasSpareKey ? 'same channel' : 'next channel';
  }

  /** Every key of the best channel is busy for a moment. @returns null = it is tried at once. */
  private pauseFor(channel: ChannelSnapshot): ShortWait | null {
    const { core, reservation } = this;
    const { parsed, plan } = reservation;
    const ms = core.health.waitMs(channel, parsed.model);
    const longestMs = plan.settings.shortWaitMs - this.pausedMs;
    if (ms === 0 || ms > longestMs) return null;
    if (core.health.condition(channel, parsed.model) !== 'cooling') return null;
    return core.shortWaits.start(channel.id, ms, longestMs);
  }

  /** A hold for a client that left ends at once. */
  private async waitFor(pause: ShortWait): Promise<void> {
    const { core, disconnect } = this;
    const startMs = core.now();
    disconnect.onDisconnect(pause.end);
    disconnect.upstream.onAbort(pause.end);
    await pause.over;
    this.pausedMs += core.now() - startMs;
  }

  /** The key whose account has the conversation's prompt cached. */
  private keptKey(channel: ChannelSnapshot): KeyChoice {
    const { core, reservation } = this;
    const { plan, parsed } = reservation;
    const { served } = plan;
    if (served === null) return core.health.pickKey(channel, parsed.model);
    const { left } = served;
    const warm = left?.channelId === channel.id && core.affinity.isWarm(left) ? left.keyIndex : -1;
    const last = served.channelId === channel.id ? served.keyIndex : -1;
    return core.health.pickKey(channel, parsed.model, warm, last);
  }

  private variantFor(channel: ChannelSnapshot, key: KeyChoice): Variant {
    const { unsigned, trial, core } = this;
    const { parsed, free } = this.reservation;
    const summary = parsed.compaction !== undefined && core.compactions.isMissingAt(channel);
    // A test asks the upstream as it is.
    const without = free ? null : core.learnt.without(channel.id, this.conversation, trial);
    const compared = free || channel.setting.cache_diagnosis !== true ? null : this.comparedAt(channel, key);
    if (compared !== null) return { unsigned, summary, without, compared };
    return unsigned || summary || without !== null ? { unsigned, summary, without } : plainVariant;
  }

  /** The turn that the provider is to compare this one with; null = it is not asked. */
  private comparedAt(channel: ChannelSnapshot, { key }: KeyChoice): Compared | null {
    const { parsed, principal, names } = this.reservation;
    const conversation = names?.session;
    if (conversation === undefined || this.unasked === channel || undiagnosed.has(channel)) return null;
    return this.core.cacheWatch.compared({ userId: principal.user.id, conversation, parsed, channel, key });
  }

  private readonly conversation = (): string | null =>
    conversationKey(this.reservation.parsed, this.reservation.principal);

  private mayGoOn(): boolean {
    const { disconnect, attempts } = this;
    if (attempts.length >= this.allowed || attempts.length >= this.most) return false;
    return !disconnect.isDisconnected && !disconnect.upstream.aborted;
  }

  // --- the retry policy

  /** @returns null = no channel is left that it makes sense to try. */
  private nextChannel(): ChannelSnapshot | null {
    const { candidates } = this.reservation.plan;
    const { position } = this;
    const channel = candidates.at(position % candidates.length);
    if (channel === undefined || position >= candidates.length * (this.allowed - this.beforeTarget)) return null;
    if (position >= candidates.length && !this.mayRetrySameChannel(channel)) return null;
    this.position++;
    return channel;
  }

  /** Each channel had its turn. */
  private allRateLimited(): boolean {
    return this.position >= this.reservation.plan.candidates.length;
  }

  /** All were tried, and there are attempts left: hosts with a passing error are tried again, ejected ones are not. */
  private mayRetrySameChannel(channel: ChannelSnapshot): boolean {
    const { failure } = this;
    return (
      this.limited &&
      failure?.class === 'host' &&
      failure.reason !== 'timeout' &&
      failure.status !== missing &&
      this.core.health.condition(channel, this.reservation.parsed.model) === 'up'
    );
  }

  /** Whatever the option says, one bad host or one exhausted key among others should not fail the request: one extra attempt, once. */
  private allowExtra(): void {
    if (this.attempts.length < this.allowed || this.extraGranted || !(this.hasSpareKey || this.anotherIsUp())) return;
    this.extraGranted = true;
    this.allowed++;
  }

  /** A healthy channel has not been tried yet. Those are drawn first. */
  private anotherIsUp(): boolean {
    const { plan, parsed } = this.reservation;
    const { candidates } = plan;
    const other = this.position < candidates.length ? candidates.at(this.position) : undefined;
    return other !== undefined && this.core.health.condition(other, parsed.model) === 'up';
  }
}

const rejectsThoughts = ({ error }: UpstreamFailure): boolean =>
  error !== null && rejectsSignature(`${error.code ?? ''} ${error.message}`);

/** Signs where the provider wants it, then calls. A key that cannot sign is a key in trouble; a seller of tokens that is out of reach is the host. */
export function send(
  core: Pick<SendCore, 'dispatch' | 'now' | 'token'>,
  prepared: Prepared,
  abort: AbortController,
  firstByteMs?: number,
): Promise<UpstreamAnswer> {
  const { call, auth } = prepared;
  return auth === undefined
    ? core.dispatch(call, abort, firstByteMs)
    : sendSigned(core, auth, prepared, abort, firstByteMs);
}

function sendSigned(
  core: Pick<SendCore, 'dispatch' | 'now' | 'token'>,
  auth: NonNullable<Adapter['auth']>,
  prepared: Prepared,
  abort: AbortController,
  firstByteMs: number | undefined,
): Promise<UpstreamAnswer> {
  return signed(core, auth, prepared).then(
    (ready) => core.dispatch(ready, abort, firstByteMs),
    (error: unknown): UpstreamAnswer => {
      if (isOurs(error)) throw error;
      return { kind: 'failure', failure: unsigned(error) };
    },
  );
}

function unsigned(error: unknown): UpstreamFailure {
  const code = error instanceof AppError ? error.code : null;
  if (code === 'overloaded') return exhaustion;
  if (code !== 'upstream_unreachable') return keyFailure;
  // The address of a seller may hold the key: its words are not repeated.
  const { cause } = error as AppError;
  const met = codeOf(cause) ?? (cause instanceof Error && /^HTTP \d+$/.test(cause.message) ? cause.message : '');
  const message = `no access token${met === '' ? '' : `: ${met}`}`;
  return { ...unreachable, error: { status: null, type: null, code: codeOf(cause), message } };
}

const keyFailure: UpstreamFailure = { class: 'key', status: 401, error: null, retryAfter: null, reason: 'status' };

/** @throws AppError upstream_key, upstream_unreachable: the key cannot sign. */
async function signed(
  { now, token }: Pick<SendCore, 'now' | 'token'>,
  auth: NonNullable<Adapter['auth']>,
  { call, key }: Pick<Prepared, 'call' | 'key'>,
): Promise<UpstreamCall> {
  if (!URL.canParse(call.url)) throw new AppError('upstream_unreachable');
  const body = typeof call.body === 'string' ? call.body : Buffer.from(call.body as Uint8Array).toString('utf8');
  const made = await auth({ url: call.url, headers: call.headers, body }, { key, nowMs: now(), token });
  return { ...call, url: made.url, headers: { ...made.headers }, body: made.body };
}

/** Operations that respond at once: pictures, audio and conversations take their time. */
const fastOperations: ReadonlySet<string> = new Set(['chat', 'completions', 'embeddings', 'moderations', 'rerank']);

/** How long a first byte may take: as long as another channel could be tried instead, not for ever. @returns milliseconds; Infinity = only the limit of silence holds. */
export function firstByteTimeout(
  { health }: Pick<SendCore, 'health'>,
  { parsed, plan, chain }: Reservation,
  { channel, known, streams }: Prepared,
  attempts: readonly AttemptSummary[],
): number {
  // A limit of the channel itself applies whichever others there are.
  const { first_byte_seconds: both, first_event_seconds: event, first_answer_seconds: answer } = channel.setting;
  const own = (streams ? event : answer) ?? both;
  if (typeof own === 'number' && own > 0) return own * 1000;
  const mayFollow = chain?.mayFollow('timeout') === true;
  if ((plan.candidates.length === 1 && !mayFollow) || !fastOperations.has(parsed.operation))
    return Number.POSITIVE_INFINITY;
  const { firstEventMs, firstAnswerMs } = plan.settings;
  const limit = streams ? firstEventMs : firstAnswerMs;
  if (limit === Number.POSITIVE_INFINITY) return limit;
  // An unknown model is assumed to think.
  const isThinkingExpected = parsed.operation === 'chat' && known.thinking !== 'none';
  return !isThinkingExpected && (mayFollow || isAnotherUp(health, plan.candidates, parsed.model, attempts))
    ? limit
    : Number.POSITIVE_INFINITY;
}

/** Healthy channels are picked first: the first one that was not tried yet decides. */
function isAnotherUp(
  health: Pick<Health, 'condition'>,
  candidates: Candidates<ChannelSnapshot>,
  model: string,
  attempts: readonly AttemptSummary[],
): boolean {
  for (let at = 0; at < candidates.length; at++) {
    const other = candidates.at(at);
    if (other === undefined) return false;
    if (!attempts.some(({ channelId }) => channelId === other.id)) return health.condition(other, model) === 'up';
  }
  return false;
}
