/** Tries channels in order until one answers: what may be tried again, with which key, and what the failures say about the channels. */
import { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ChatEvent, UpstreamError, Usage } from '../../protocols/canonical.ts';
import { codecFor, commonProtocol } from '../../protocols/registry.ts';
import { record } from '../../protocols/shared/json.ts';
import { refusesSignature } from '../../providers/knowledge/signatures.ts';
import type { Quirk, SignFacts } from '../../providers/quirk.ts';
import type { Exchange } from '../admission/exchange.ts';
import { asSummary } from '../intake/compaction.ts';
import type { Form } from '../intake/form.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import type { Affinity } from '../routing/affinity.ts';
import type { Health, KeyChoice } from '../routing/health.ts';
import {
  failedAttempt,
  isLasting,
  mayRetry,
  redacted,
  statusFailure,
  type Tried,
  triedOnly,
  type UpstreamFailure,
  withKeywords,
} from '../shared/failure.ts';
import type { RelaySettings } from '../state/settings.ts';
import type { UpstreamCall } from './call.ts';
import type { Departure } from './client-disconnect.ts';
import { isCompacted, lacksCompaction, type NativeCompactions, uncompacted } from './condense.ts';
import { finished, inlined } from './custom-operation.ts';
import { type FrameRelay, PassthroughRelay, TranslatingRelay } from './frame-relay.ts';
import type { Dispatch, UpstreamAnswer } from './http.ts';
import { nameable } from './nameable.ts';
import { type OpenStream, openStream, sseFraming } from './open-stream.ts';
import { patienceWith } from './patience.ts';
import { type Prepared, prepareAttempt } from './prepare.ts';
import { beginsWithEvent, peeked, typeOf } from './response-body.ts';
import { mayThink } from './thinking.ts';
import { createTries } from './tries.ts';
import { errorIn, failureIn, parseBody, readWhole, responseContext, saysNothing, thinkingToContent } from './whole.ts';

export interface AttemptsDeps {
  readonly dispatch: Dispatch;
  readonly now: () => number;
  readonly settings: () => RelaySettings;
  readonly health: Health;
  readonly token: SignFacts['token'];
  readonly affinity: Affinity;
  readonly compactions: NativeCompactions;
  /** Milliseconds an upstream may be silent. */
  readonly idleMs: () => number;
}

interface Reached {
  readonly prepared: Prepared;
  readonly response: Response;
  readonly tried: readonly Tried[];
}

export type Outcome =
  | (Reached & { readonly kind: 'stream'; readonly stream: OpenStream })
  | (Reached & {
      readonly kind: 'whole';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly body: unknown;
      /** What it says, where that had to be read. */
      readonly events: readonly ChatEvent[] | null;
      readonly firstByteMs: number;
    })
  /** Neither JSON nor events: sound, subtitles. */
  | (Reached & { readonly kind: 'bytes' })
  | Failed;

export interface Failed {
  readonly kind: 'failed';
  /** Set when the request itself cannot be carried over to any upstream. */
  readonly error: AppError | null;
  readonly failure: UpstreamFailure | null;
  readonly last: ChannelSnapshot | null;
  readonly tried: readonly Tried[];
  readonly left: Left | null;
  /** Every channel was asked, and each would refuse the same request again. */
  readonly final: boolean;
}

/** The client left when the upstream had taken the request and said nothing of worth yet. */
export interface Left {
  readonly prepared: Prepared;
  readonly usage: Usage | null;
}

/** Never rejects. */
export const tryChannels = (deps: AttemptsDeps, exchange: Exchange, departure: Departure): Promise<Outcome> =>
  eachChannel<Exclude<Outcome, Failed>>(deps, exchange, departure, (prepared, tried, abort) => {
    const facts = { departure, tried, abort };
    return prepared.compaction === 'native'
      ? askForCompaction(deps, exchange, prepared, facts)
      : ask(deps, exchange, prepared, facts);
  });

interface CallFacts {
  readonly departure: Departure;
  readonly tried: readonly Tried[];
  readonly abort: AbortController;
}
type Asked = Exclude<Outcome, Failed> | { readonly failure: UpstreamFailure; readonly answered: boolean };

async function ask(deps: AttemptsDeps, exchange: Exchange, prepared: Prepared, facts: CallFacts): Promise<Asked> {
  const { departure, tried, abort } = facts;
  const firstByteMs = patienceWith(deps, exchange, prepared, tried);
  const sentMs = deps.now();
  const firstBy = sentMs + firstByteMs;
  const result = await send(deps, prepared, abort, firstByteMs);
  if (result.kind === 'failure') return { failure: result.failure, answered: false };
  const answer = { prepared, response: result.response, tried };
  const reached = await open(deps, exchange, answer, { abort, departure, firstBy, sentMs });
  return 'kind' in reached ? reached : { failure: reached, answered: true };
}

/** Where the upstream turns out to know nothing of it, it is asked in plain words. */
async function askForCompaction(
  deps: AttemptsDeps,
  exchange: Exchange,
  prepared: Prepared,
  facts: CallFacts,
): Promise<Asked> {
  const first = await ask(deps, exchange, prepared, facts);
  if ('kind' in first || !lacksCompaction(first.failure)) return first;
  const key = { key: prepared.key, index: prepared.keyIndex };
  const plain = prepare(asSummary(exchange.inquiry), prepared.channel, key, deps.settings());
  if (plain === null || plain instanceof AppError) return first;
  const second = await ask(deps, exchange, plain, facts);
  // A mistake of the caller's fails in plain words as well, and says nothing about the upstream.
  if ('kind' in second) deps.compactions.noteLack(prepared.channel);
  return second;
}

export type CandidatesDeps = Pick<AttemptsDeps, 'now' | 'settings' | 'health' | 'affinity' | 'compactions'>;

/** @returns what can be worked with, or why not, and whether the upstream had taken the request. */
type Attempt<T> = (
  prepared: Prepared,
  tried: readonly Tried[],
  abort: AbortController,
) => Promise<T | { readonly failure: UpstreamFailure; readonly answered: boolean }>;

const goesOn: ReadonlySet<string> = new Set(['stream', 'bytes']);

/** The one loop over channels and keys, whatever is asked of them. Never rejects, as long as `attempt` does not. */
export async function eachChannel<T extends { readonly kind: string }>(
  deps: CandidatesDeps,
  exchange: Exchange,
  departure: Departure,
  attempt: Attempt<T>,
): Promise<T | Failed> {
  const { inquiry, plan } = exchange;
  const { upstream } = departure;
  const settings = deps.settings();
  const tries = createTries(
    deps.health,
    plan.candidates,
    inquiry.operation === 'realtime' ? null : settings.retryTimes,
  );
  const tried: Tried[] = [];
  let failure: UpstreamFailure | null = null;
  let last: ChannelSnapshot | null = null;
  let left: Left | null = null;
  let asking: Inquiry = inquiry;
  /** No refusal so far was one that time may heal, and no key that is ready is left. */
  let lasting = true;
  let spareKey = false;
  const failed = (error: AppError | null = null): Failed => {
    const final = failure !== null && lasting && !spareKey && tries.allAsked();
    return { kind: 'failed', error, failure, last, tried, left, final };
  };

  for (let channel = tries.next(null); channel !== null; channel = tries.next(failure)) {
    let again = true;
    while (again && tries.left(tried.length) && !departure.gone() && !upstream.aborted) {
      again = false;
      const key = deps.health.pickKey(channel);
      const known = asking.compaction === undefined || !deps.compactions.lackedBy(channel);
      const prepared = prepare(known ? asking : asSummary(asking), channel, key, settings);
      if (prepared instanceof AppError) return failed(prepared);
      if (prepared === null) break;
      tried.push(triedOnly(channel));
      const askedMs = deps.now();
      last = channel;
      const own = departure.asking(channel);
      deps.health.begin(channel);
      if (inquiry.form !== null) abortOnFault(inquiry.form, own);
      const reached = await attempt(prepared, tried, own);
      if ('kind' in reached) {
        // Of what goes on only the end will tell.
        if (!goesOn.has(reached.kind)) deps.health.succeeded(channel, key.index);
        if (plan.candidates.length > 1) deps.affinity.remember(plan.conversation, channel.id);
        return reached;
      }
      if (upstream.aborted) deps.health.released(channel);
      if (upstream.aborted && departure.gone()) {
        if (reached.answered) left = { prepared, usage: reached.failure.usage ?? null };
        break;
      }
      // The body went wrong on its way: nobody but the caller is to blame.
      const fault = inquiry.form?.fault() ?? null;
      if (fault !== null) {
        deps.health.released(channel);
        return failed(fault);
      }
      // Ended by us: no channel is to blame.
      if (upstream.aborted) break;
      failure = withKeywords(
        reached.failure,
        settings.disableKeywords,
        () => inquiry.json?.text ?? JSON.stringify(inquiry.body),
      );
      tried[tried.length - 1] = { ...triedOnly(channel), failed: failedAttempt(failure, deps.now() - askedMs) };
      lasting &&= isLasting(failure);
      deps.health.failed(channel, key.index, failure);
      if (mayRetry(failure)) deps.affinity.forget(plan.conversation, channel.id);
      // A conversation that was begun elsewhere goes on without its thoughts, once.
      if (asking === inquiry && failure.class === 'client' && refusesThoughts(failure)) {
        asking = { ...inquiry, unsigned: true };
        tries.grant();
        again = true;
        continue;
      }
      if (!mayRetry(failure) || inquiry.form?.replayable === false) return failed();
      spareKey = failure.class === 'key' && deps.health.hasSpareKey(channel);
      again = spareKey;
      tries.spare(tried.length, again);
    }
    if (!tries.left(tried.length) || upstream.aborted || departure.gone()) break;
  }
  return failed();
}

const abortOnFault = (form: Form, call: AbortController): void => form.onFault(() => call.abort());

const refusesThoughts = ({ error }: UpstreamFailure): boolean =>
  error !== null && refusesSignature(`${error.code ?? ''} ${error.message}`);

/** Signs where the provider wants it, then calls. A key that cannot sign is a key in trouble. */
export function send(
  deps: SendDeps,
  prepared: Prepared,
  abort: AbortController,
  firstByteMs?: number,
): Promise<UpstreamAnswer> {
  const { call, quirk, key } = prepared;
  if (quirk?.sign === undefined) return deps.dispatch(call, abort, firstByteMs);
  return signed(deps, quirk.sign, { call, key }).then(
    (ready) => deps.dispatch(ready, abort, firstByteMs),
    (): UpstreamAnswer => ({ kind: 'failure', failure: keyTrouble }),
  );
}

type SendDeps = Pick<AttemptsDeps, 'dispatch' | 'now' | 'token'>;

const keyTrouble: UpstreamFailure = { class: 'key', status: 401, error: null, retryAfter: null, reason: 'status' };

/** @throws whatever the signature may throw. */
async function signed(
  { now, token }: SendDeps,
  sign: NonNullable<Quirk['sign']>,
  { call, key }: Pick<Prepared, 'call' | 'key'>,
): Promise<UpstreamCall> {
  const body = typeof call.body === 'string' ? call.body : Buffer.from(call.body as Uint8Array).toString('utf8');
  const made = await sign({ url: call.url, headers: call.headers, body }, { key, nowMs: now(), token });
  return { ...call, url: made.url, headers: { ...made.headers }, body: made.body };
}

/** What a client's request lacks for a translation is the client's mistake, told before anybody is called. */
function prepare(
  inquiry: Inquiry,
  channel: ChannelSnapshot,
  key: KeyChoice,
  settings: RelaySettings,
): Prepared | AppError | null {
  try {
    return prepareAttempt(inquiry, channel, key, settings);
  } catch (error) {
    return error instanceof AppError ? error : new AppError('internal', {}, error);
  }
}

async function open(
  deps: AttemptsDeps,
  exchange: Exchange,
  reached: Reached,
  {
    abort,
    departure,
    firstBy,
    sentMs,
  }: {
    readonly abort: AbortController;
    readonly departure: Departure;
    readonly firstBy: number;
    readonly sentMs: number;
  },
): Promise<Exclude<Outcome, { kind: 'failed' }> | UpstreamFailure> {
  const { prepared } = reached;
  let { response } = reached;
  const type = response.headers.get('content-type') ?? '';
  const asksStream = exchange.inquiry.stream && exchange.inquiry.operation === 'chat';
  let framing =
    prepared.quirk?.framing?.(type) ??
    prepared.upstream.framing?.(type, asksStream) ??
    (type.includes('text/event-stream') ? sseFraming() : null);
  const { operation } = exchange.inquiry;
  // Some relays stream under another content type, or under none.
  if (framing === null && response.body !== null && operation === 'chat' && (asksStream || !isJson(type))) {
    const timer = setTimeout(() => abort.abort(), Math.min(deps.idleMs(), Math.max(1, firstBy - deps.now())));
    try {
      const { first, body } = await peeked(response.body);
      response = new Response(body, response);
      if (beginsWithEvent(first)) framing = sseFraming();
    } catch {
      return hostFailure(response, abort.signal.aborted ? 'timeout' : 'broken');
    } finally {
      clearTimeout(timer);
    }
  }
  if (framing !== null && response.body !== null) {
    // What it thought until its first word is reported a little later.
    if (exchange.plan.estimate.answer?.model.thinks === true && mayThink(exchange, prepared, deps.settings()))
      departure.expecting(always);
    const opening = await openStream({
      upstream: response.body,
      framing,
      frameRelay: passageFor(exchange, prepared, deps.now),
      firstMs: Math.min(deps.idleMs(), Math.max(1, firstBy - deps.now())),
      idleMs: deps.idleMs(),
      now: deps.now,
      sentMs,
      abort,
    });
    if (opening.ok && prepared.compaction === 'native' && !opening.stream.frameRelay.hasContent()) {
      void opening.stream.reader.cancel().catch(() => undefined);
      return uncompacted(response.status);
    }
    if (opening.ok) return { kind: 'stream', ...reached, stream: opening.stream };
    if (opening.error !== null) return inBodyFailure(opening.error, prepared);
    const { reason, usage } = opening;
    return { ...hostFailure(response, reason === 'error' ? 'broken' : reason), usage };
  }
  if (operation === 'speech' || (isRecording(operation) && !isJson(type))) return { kind: 'bytes', ...reached };
  // It is made already: whoever leaves now pays for it.
  departure.expecting(always);
  const bytes = await readWhole(response, deps.idleMs(), abort);
  if (bytes === null) return hostFailure(response, abort.signal.aborted ? 'timeout' : 'broken');
  const firstByteMs = deps.now();
  const retold = operation === 'chat' && (prepared.retold || exchange.inquiry.stream);
  const parsed = parseBody(bytes, retold);
  if (parsed === undefined) return hostFailure(response, 'invalid');
  const { upstream, custom } = prepared;
  let body: unknown = parsed;
  if (custom !== null) {
    const { dispatch, now } = deps;
    const errand = { dispatch, now, limitMs: deps.idleMs(), call: prepared.call, abort };
    const last = await finished(errand, custom, parsed);
    if ('class' in last) return last;
    const plain = custom.form.decode(last.answer, custom.asked);
    body = await inlined(errand, custom, plain);
  }
  const error = errorIn(custom === null ? upstream : openAi, body, prepared.ownWire);
  if (error !== null) return inBodyFailure(error, prepared);
  // Work that goes on without us has been ordered: nobody else may be asked for it once more.
  const { status } = record(body) ?? {};
  if (operation === 'chat' && (status === 'queued' || status === 'in_progress')) {
    return { ...hostFailure(response, 'invalid'), class: 'client' };
  }
  if (prepared.compaction === 'native' && !isCompacted(exchange.inquiry, JSON.stringify(body)))
    return uncompacted(response.status);
  const usage = upstream.readUsage(body);
  const silent = operation === 'chat' && (usage === null || usage.output + usage.reasoning === 0);
  const events = retold || silent ? upstream.decodeResponse(body) : null;
  if (silent && events !== null && saysNothing(events, usage)) return hostFailure(response, 'empty');
  if (retold && events !== null) {
    for (const event of events) {
      const failed = failureIn(event);
      if (failed === null) continue;
      return failed.code === null ? { ...hostFailure(response, 'broken'), usage } : inBodyFailure(failed, prepared);
    }
  }
  return { kind: 'whole', ...reached, bytes, body, events, firstByteMs };
}

const always = () => true;
const isJson = (type: string): boolean => type.includes('json');

/** What answers of custom forms are made into. */
const openAi = codecFor(commonProtocol).upstream;

const isRecording = (operation: string): boolean => operation === 'transcriptions' || operation === 'translations';

/** The content type goes into the log: it is the reason why many an answer cannot be read. */
const hostFailure = (response: Response, reason: UpstreamFailure['reason']): UpstreamFailure => ({
  class: 'host',
  status: response.status,
  error:
    reason === 'invalid' || reason === 'broken'
      ? { status: null, type: null, code: null, message: typeOf(response) }
      : null,
  retryAfter: null,
  reason,
});

/** An error that came inside of a 200: its words decide the class. */
export function inBodyFailure(error: UpstreamError, prepared: Prepared): UpstreamFailure {
  const { channel } = prepared;
  // The 200 it came with says nothing.
  const status = error.status !== null && error.status >= 400 ? error.status : statusOfType(error);
  return { ...statusFailure(status, redacted(error, channel), null), inBody: true };
}

const statusByWord: readonly (readonly [RegExp, number])[] = [
  [/rate_limit|too_many|exhausted/i, 429],
  [/overloaded|unavailable/i, 529],
  [/authentication|invalid_api_key|unauthori/i, 401],
  [/permission|forbidden/i, 403],
  [/invalid_request|invalid_argument|context_length|content_filter|content_policy/i, 400],
];

const statusOfType = (error: UpstreamError): number => {
  const words = `${error.type ?? ''} ${error.code ?? ''}`;
  return statusByWord.find(([pattern]) => pattern.test(words))?.[1] ?? 502;
};

/** How this upstream's frames reach this client. */
function passageFor(exchange: Exchange, prepared: Prepared, now: () => number): FrameRelay {
  const { inquiry } = exchange;
  const { upstream } = prepared;
  if (isGathered(inquiry)) return new TranslatingRelay(upstream, null, now, changeFor(prepared));
  // Nothing goes to the client before it is sure that this upstream knows how to compact.
  const proves = prepared.compaction === 'native' ? (frame: string) => isCompacted(inquiry, frame) : null;
  if (proves !== null || !prepared.retold) return new PassthroughRelay(upstream, prepared.usageAsked, now, proves);
  const { writer } = codecFor(inquiry.protocol).translation;
  return new TranslatingRelay(upstream, writer(contextOf(exchange, now())), now, changeFor(prepared));
}

/** Some upstreams stream although one piece was asked for. */
export const isGathered = (inquiry: Inquiry): boolean => !inquiry.stream && inquiry.operation === 'chat';

/** What happens to an answer's events between the two dialects. */
export function changeFor(prepared: Prepared): ((event: ChatEvent) => readonly ChatEvent[]) | undefined {
  if (prepared.condense !== null) return prepared.condense();
  const restore = prepared.restore?.();
  if (prepared.channel.setting.thinking_to_content !== true) return restore;
  const tell = thinkingToContent();
  return restore === undefined ? tell : (event) => restore(event).flatMap(tell);
}

export const contextOf = ({ inquiry, plan }: Exchange, nowMs: number) => {
  const options = inquiry.body.stream_options as { include_usage?: unknown } | null | undefined;
  return responseContext(
    {
      model: inquiry.model,
      requestId: inquiry.requestId,
      includeUsage: options?.include_usage === true,
      promptTokens: plan.promptTokens,
    },
    nowMs,
    nameable(inquiry),
  );
};
