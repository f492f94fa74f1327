/** One request, from its path to its last byte: match, authenticate, gate, read, plan, reserve, send, deliver; whatever goes wrong, its money ends exactly once. */
import type { Language } from '../contract/enum.ts';
import { AppError } from '../contract/errors.ts';
import { languageFor } from '../contract/language.ts';
import type { ChannelSnapshot } from '../contract/snapshot.ts';
import type { ProtocolId } from '../protocols/canonical.ts';
import type { ClientError } from '../protocols/codec.ts';
import { type Chain, groupChain, throughGroups } from '../routing/chains.ts';
import { Feature } from '../routing/features.ts';
import { checkWords } from './admission/blocked-words.ts';
import { ChainRun } from './admission/chain.ts';
import type { Admission } from './admission/limits.ts';
import { unlimited } from './admission/limits.ts';
import type { Seen } from './admission/observer.ts';
import { Reservation, type ReservationOwner } from './admission/reservation.ts';
import { planFor, reserve } from './admission/reserve.ts';
import type { RelayCore } from './core.ts';
import { withBlanks } from './delivery/await-answer.ts';
import { deliver } from './delivery/respond.ts';
import { closeUnfinished, finishBroken, type Refusal } from './delivery/settle.ts';
import type { BodyHolder } from './intake/body-memory.ts';
import { checkModelName } from './intake/members.ts';
import { parse } from './intake/parse.ts';
import { isOwn, type ParsedRequest, type Peer, type Principal, type SocketTurn } from './intake/parsed-request.ts';
import { identifyPlayer, inSelectedGroup, renewPlayer, withoutEmptyLimit } from './intake/playground.ts';
import { isUnimplemented, type MatchedRoute, type RelayRoute } from './intake/routes.ts';
import { keptIds, referencedIds } from './routing/affinity.ts';
import { clientError, listedError, plainFailure, refusalFor, retryAfterOf, sentStatus } from './shared/render-error.ts';
import { sealed } from './shared/safe-headers.ts';
import type { RelayState } from './state/state.ts';
import { RequestSender } from './upstream/attempt.ts';
import { ClientDisconnect } from './upstream/client-disconnect.ts';

/** A count is free: what is larger than any model reads is not read for one. A million tokens of plain words are some 4 MB. */
const countedBodyLimit = 8 * 1024 * 1024;

/** Channel tests belong to no account. */
const tester: Principal = {
  user: {
    id: 0,
    username: '',
    role: 100,
    status: 1,
    group: 'default',
    balance: 0,
    used: 0,
    balanceVersion: 0,
    overrun: 0,
    setting: { accept_unset_model_ratio_model: true },
  },
  token: null,
  keyHmac: '',
  group: 'default',
  pinnedChannel: null,
};

const isRefusal = (reached: unknown): reached is Refusal =>
  typeof reached === 'object' && reached !== null && 'clientError' in reached;

/** What is known of a request when it arrives. */
export interface IncomingRequest {
  readonly request: Request;
  /** The path without what clients get wrong about it. */
  readonly path: string;
  /** null = the operator's own test. */
  readonly peer: Peer | null;
  /** The channel that is tested; 0 = none is. */
  readonly testedChannel: number;
  /** Dialect of the response, where the path does not say it. */
  readonly protocol: ProtocolId | undefined;
  /** Where it came over a socket. */
  readonly socket: SocketTurn | undefined;
}

export class RelayRequest implements ReservationOwner, Seen, BodyHolder {
  readonly requestId: string;
  readonly startedMs: number;
  readonly request: Request;
  readonly path: string;
  private readonly peer: Peer | null;
  /** The operator's own: logged, not charged, and served whatever is refused to others. */
  private readonly isTest: boolean;
  private readonly testedChannel: number;
  private readonly protocol: ProtocolId | undefined;
  private readonly socket: SocketTurn | undefined;
  /** On whose account; null = not known yet. */
  principal: Principal | null = null;
  /** What is asked for; null = the body was not read yet. */
  parsed: ParsedRequest | null = null;
  /** It was refused at the gate, before its body was read. */
  unread = false;
  /** Counted in by the limits, until a reservation takes it over. */
  private admission: Admission | null = null;
  /** What is refused from here on never ran, and counts in nothing; before, it could not be read. */
  private isRead = false;
  private reservation: Reservation | null = null;
  /** As long as it is not known whether it is let in. */
  private reserving: Reservation | null = null;
  private disconnect: ClientDisconnect | null = null;
  /** Bytes of memory that its body takes. */
  private memory = 0;
  /** Counted as open only while its steps run. */
  private isCounted = false;

  constructor(
    private readonly core: RelayCore,
    { request, path, peer, testedChannel, protocol, socket }: IncomingRequest,
  ) {
    this.requestId = core.requestIds.next();
    this.startedMs = core.now();
    this.request = request;
    this.path = path;
    this.peer = peer;
    this.isTest = peer === null;
    this.testedChannel = testedChannel;
    this.protocol = protocol;
    this.socket = socket;
  }

  /** A route of the relay, through all steps. Never rejects: every failure becomes a response in the caller's dialect. */
  async respond(matched: MatchedRoute | undefined): Promise<Response> {
    try {
      this.begin();
      return sealed(await this.allSteps(matched));
    } catch (error) {
      return this.fail(error);
    }
  }

  /** For endpoints with steps of their own. Never rejects. @returns what they made, or the response that refuses it. */
  async respondWith<T>(steps: () => T | Refusal | Response | Promise<T | Refusal | Response>): Promise<T | Response> {
    try {
      this.begin();
      const reached = await steps();
      const rejected = isRefusal(reached);
      if (!rejected && !(reached instanceof Response)) return reached;
      if (this.admission !== null) this.core.gate.rollBack(this.admission);
      this.over();
      return sealed(rejected ? this.refusal(reached) : reached);
    } catch (error) {
      return this.fail(error);
    }
  }

  private async allSteps(known: MatchedRoute | undefined): Promise<Response> {
    const { core, request } = this;
    if (!this.isTest) {
      const queued = core.closed === null && core.queue !== null ? core.queue() : null;
      if (queued !== null) await queued;
      if (core.closed !== null) throw core.closed;
    }
    const matched = this.match(known);
    const { route } = matched;
    const counts = route.operation === 'count_tokens';
    const identified = this.authenticate(route);
    const caller = identified instanceof Promise ? await identified : identified;
    this.principal = caller;
    if (!this.isTest) {
      // Prices and group follow from the body at the playground.
      const passed = this.pass(route.session ? { ...caller, group: '' } : caller, counts);
      if (passed !== undefined) await passed;
    }
    const parsed = await this.read(matched, caller);
    const principal = route.session ? inSelectedGroup(core.state, caller, parsed) : caller;
    if (counts) return this.countTokens(parsed, principal);
    // Owners that this thread does not know are asked for before anything depends on them.
    if ((parsed.prompt.features & Feature.stored) !== 0) {
      const learnt = core.affinity.load([...keptIds(parsed), ...referencedIds(parsed)]);
      if (learnt !== null) await learnt;
    }
    this.isRead = true;
    if (route.session) await this.passInGroup(principal);
    const reserved = this.reserve(parsed, principal);
    const reservation = reserved instanceof Promise ? await reserved : reserved;
    this.disconnect = new ClientDisconnect(request.signal, core.billMs, core.timers, core.drains);
    core.running.add(this.disconnect);
    const sending = new RequestSender(core, reservation, this.disconnect).send();
    const delivered = deliver(core, reservation, sending, this.disconnect);
    const { blankMs } = reservation.plan.settings;
    if (blankMs === null || parsed.stream || parsed.operation !== 'chat') return this.listed(await delivered);
    const answer = delivered.then((response) => this.listed(response)).catch((error: unknown) => this.fail(error));
    return withBlanks(answer, blankMs, core.deadlines, {
      ...{ 'content-type': 'application/json', 'x-accel-buffering': 'no', 'x-oneapi-request-id': this.requestId },
    });
  }

  private listed(response: Response): Response | Promise<Response> {
    return response.status < 400 ? response : listedError(response, this.path, this.request.url);
  }

  /** @throws AppError route_unknown, not_implemented, upgrade_refused, method_not_allowed. */
  private match(matched: MatchedRoute | undefined): MatchedRoute {
    const { request, path } = this;
    if (matched === undefined)
      throw new AppError(isUnimplemented(path) ? 'not_implemented' : 'route_unknown', { method: request.method, path });
    // Clients that try a socket first go on with plain requests at once when this refuses it.
    if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') throw new AppError('upgrade_refused');
    if (request.method !== 'POST') throw new AppError('method_not_allowed', { method: request.method });
    return matched;
  }

  /** At once, but for a caller who is known by a session of the console. @throws AppError token_*, user_disabled, ip_not_allowed, group_*. */
  private authenticate({ session }: RelayRoute): Principal | Promise<Principal> {
    const { core, request, peer } = this;
    if (this.isTest || peer === null) return { ...tester, pinnedChannel: this.testedChannel };
    return session ? identifyPlayer(core.state, core.findSession, request) : core.authorize.identify(request, peer);
  }

  /** The gate: storage, rates, and whether there is anything left to pay with. @throws AppError storage_unavailable, limit_*, *_exhausted. */
  pass(principal: Principal, free: boolean): void | Promise<void> {
    const { gate } = this.core;
    this.unread = this.parsed === null;
    // The groups of a key with several count in what they serve.
    const counted = principal.groups === undefined ? principal : { ...principal, group: '' };
    const passed = free ? gate.free(counted, this) : gate.paid(counted, this);
    return passed instanceof Promise ? this.passedLater(passed, principal) : this.passed(passed, principal);
  }

  private async passedLater(passed: Promise<Admission>, principal: Principal): Promise<void> {
    this.passed(await passed, principal);
  }

  private passed(admission: Admission, { token }: Principal): void {
    this.unread = false;
    this.admission = admission;
    if (token !== null && this.peer !== null) this.core.stats.seen(token.id, this.peer);
  }

  /** For endpoints that look at their caller later than at their path. @throws AppError overloaded, token_*, user_disabled, ip_not_allowed, group_*. */
  identify(): Principal {
    const { core, request, peer } = this;
    core.letIn();
    this.principal = core.authorize.identify(request, peer ?? unknownPeer);
    return this.principal;
  }

  /** For what costs nothing and comes before a request of the same caller. @returns an empty response. @throws AppError overloaded, token_*, user_disabled, ip_not_allowed, group_*, limit_*, model_missing, model_not_allowed. */
  async mayUse(model: unknown): Promise<Response> {
    const principal = this.identify();
    await this.pass(principal, true);
    if (typeof model !== 'string' || model === '') throw new AppError('model_missing');
    checkModelName(model);
    this.core.authorize.allowModel(principal, model);
    return new Response(null, { status: 204 });
  }

  /** What is refused from here on never ran. */
  orderRead(): void {
    this.isRead = true;
    this.core.watch?.onReceived(this.request);
  }

  /** The playground's requests are counted in the group that their body names. */
  private async passInGroup(principal: Principal): Promise<void> {
    if (this.admission === null) return;
    this.core.gate.rollBack(this.admission);
    this.admission = null;
    await this.pass(principal, false);
  }

  /** Until the request is over. @throws AppError overloaded. */
  holdMemory(bytes: number): void {
    const { core, memory } = this;
    // Small bodies hold none.
    if (bytes === memory) return;
    if (core.bodies?.change(this.principal?.user.id ?? 0, memory, bytes) === false) {
      this.unread = this.parsed === null;
      // It never ran.
      this.isRead = true;
      throw core.busy.error();
    }
    this.memory = bytes;
  }

  /** @throws AppError body_*, model_missing, overloaded. */
  async read(matched: MatchedRoute, caller: Principal): Promise<ParsedRequest> {
    const { core, request, requestId, startedMs } = this;
    const { route } = matched;
    const read = await parse(request, matched, {
      requestId,
      startedMs,
      bodyLimit: route.operation === 'count_tokens' ? Math.min(countedBodyLimit, core.bodyLimit) : core.bodyLimit,
      holder: this,
      works: core.works,
      encryptedBlob: core.encryptedBlob,
      loadItems: (ids) => core.items.loadItems(caller.user.id, ids),
    });
    const parsed = route.session
      ? withoutEmptyLimit(read)
      : this.socket === undefined
        ? read
        : { ...read, socket: this.socket };
    core.watch?.onReceived(request);
    this.parsed = parsed;
    return parsed;
  }

  /** Plan and reserve. What is refused never ran. @throws AppError model_not_allowed, sensitive_words, channel_*, model_price_unset, limit_*, *_exhausted. */
  reserve(parsed: ParsedRequest, principal: Principal): Reservation | Promise<Reservation> {
    const { core } = this;
    this.isRead = true;
    core.authorize.allowModel(principal, parsed.model);
    const searched = checkWords(core.state.settings, parsed.prompt);
    return searched === undefined
      ? this.reserveNow(parsed, principal)
      : this.reserveSearched(searched, parsed, principal);
  }

  private async reserveSearched(
    searched: Promise<void>,
    parsed: ParsedRequest,
    principal: Principal,
  ): Promise<Reservation> {
    await searched;
    this.core.works(this.requestId);
    return this.reserveNow(parsed, principal);
  }

  private reserveNow(parsed: ParsedRequest, principal: Principal): Reservation | Promise<Reservation> {
    const { core, admission } = this;
    const free = this.isTest;
    // Work that is ordered, and a conversation with turns of its own, name models of channels.
    const named = free || parsed.order !== undefined || parsed.operation === 'realtime';
    const chain = named ? null : this.chainFor(parsed, principal);
    if (chain !== null) return this.reserveInChain(chain, parsed, principal);
    const plan = planFor(core, parsed, principal, free);
    const input = { parsed, principal, plan, admission: admission ?? unlimited, free, owner: this };
    const reservation = new Reservation(core, input);
    this.reserving = reservation;
    const waiting = free ? undefined : reserve(core, reservation);
    return waiting === undefined ? this.reserved(reservation) : this.reservedLater(waiting, reservation);
  }

  private async reservedLater(waiting: Promise<void>, reservation: Reservation): Promise<Reservation> {
    await waiting;
    this.core.works(this.requestId);
    return this.reserved(reservation);
  }

  /** The targets that a request may go to; null = its model is one of channels, in the key's one group. */
  private chainFor({ model }: ParsedRequest, { groups, pinnedChannel }: Principal): Chain | null {
    const { state } = this.core;
    const chain = state.chain(model);
    if (groups === undefined || pinnedChannel !== null) return chain;
    return chain === null ? chainOf(model, groups, state) : throughGroups(chain, groups);
  }

  renew({ principal, parsed, plan, chain, isHeld }: Reservation): void {
    const { core, request, peer } = this;
    if (this.isTest) return;
    const isPlayer = principal.token === null;
    const caller = isPlayer
      ? renewPlayer(core.state, principal)
      : core.authorize.identify(request, peer ?? unknownPeer, isHeld);
    for (const model of chain === null ? [parsed.model] : chain.models) core.authorize.allowModel(caller, model);
    for (const { model } of plan.others) core.authorize.allowModel(caller, model);
  }

  private async reserveInChain(chain: Chain, parsed: ParsedRequest, principal: Principal): Promise<Reservation> {
    const { core, admission } = this;
    const run = new ChainRun(core, chain, parsed, principal);
    const reservation = await run.begin(admission ?? unlimited, (target, counted) => {
      const made = new Reservation(core, {
        ...target,
        admission: counted,
        free: false,
        owner: this,
        chain: run,
      });
      this.reserving = made;
      return made;
    });
    core.works(this.requestId);
    return this.reserved(reservation);
  }

  private reserved(reservation: Reservation): Reservation {
    this.reservation = reservation;
    this.reserving = null;
    this.admission = null;
    return reservation;
  }

  private async countTokens(parsed: ParsedRequest, principal: Principal): Promise<Response> {
    const { core, admission } = this;
    core.authorize.allowModel(principal, parsed.model);
    const chain = this.chainFor(parsed, principal);
    const first = chain === null ? null : new ChainRun(core, chain, parsed, principal).first();
    const response = await core.counts.answer(
      first?.parsed ?? parsed,
      chain === null ? this.channelsFor(parsed, principal) : (first?.plan.route.list.flat() ?? []),
    );
    this.admission = null;
    if (admission !== null) core.gate.ended(admission, true);
    this.over();
    return response.status < 400 ? response : listedError(response, this.path, this.request.url);
  }

  /** That serve the model to the caller, the best first. */
  private channelsFor(
    { model }: ParsedRequest,
    { group, token, pinnedChannel }: Principal,
  ): readonly ChannelSnapshot[] {
    const channels = this.core.state.candidates(group, model, token?.channels).flat();
    return pinnedChannel === null ? channels : channels.filter(({ id }) => id === pinnedChannel);
  }

  private begin(): void {
    // Count and flag change in one step: nothing can fail between them.
    this.isCounted = ++this.core.open > 0;
    this.core.works(this.requestId);
  }

  /** The response is over, streams included. */
  over(): void {
    if (!this.isCounted) return;
    this.holdMemory(0);
    const { core, disconnect } = this;
    this.isCounted = --core.open < 0;
    core.watch?.over(this.request);
    if (disconnect === null) return;
    core.running.delete(disconnect);
    disconnect.over();
  }

  leave(): void {
    const { core, disconnect, isCounted } = this;
    if (isCounted) this.isCounted = --core.open < 0;
    this.holdMemory(0);
    if (disconnect === null) return;
    core.running.delete(disconnect);
    disconnect.over();
  }

  /** @returns what the caller is sent. */
  private async fail(error: unknown): Promise<Response> {
    const { core, requestId } = this;
    core.report(error, requestId);
    try {
      // Something went wrong between the hold and its owner.
      if (this.reserving?.isHeld === true) this.reserved(this.reserving);
      const shown = clientError(error, requestId);
      await this.end(error, shown);
      this.over();
      return sealed(this.refusal({ clientError: shown, retryAfter: retryAfterOf(error) }));
    } catch (another) {
      core.report(another, requestId);
      // What counts and words refusals failed itself.
      return this.failPlainly(another);
    }
  }

  /** With as little as can be. */
  private async failPlainly(met: unknown): Promise<Response> {
    const { core, requestId, reserving } = this;
    try {
      const held = this.reservation ?? (reserving?.isHeld === true ? reserving : null);
      if (held !== null) await closeUnfinished(core, held);
      this.over();
    } catch (error) {
      core.report(error, requestId);
      this.leave();
    }
    return plainFailure(requestId, met);
  }

  /** Ends what the request holds. */
  private async end(error: unknown, shown: ClientError): Promise<void> {
    const { core, request, path, peer, requestId, admission, reservation } = this;
    if (reservation !== null) {
      this.disconnect?.upstream.abort();
      await finishBroken(reservation, error);
      // What was charged is lost with the response that nobody gets.
      await reservation.refund();
    } else {
      this.admission = null;
      if (admission !== null) {
        if (this.isRead) core.gate.rollBack(admission);
        else core.gate.ended(admission, false);
      }
      const { code } = shown;
      const status = sentStatus(request, path, shown, this.protocol);
      core.stats.rejected(code, {
        userId: this.principal?.user.id ?? 0,
        tokenId: this.principal?.token?.id ?? 0,
        own: this.principal === null ? this.isTest : isOwn(this.principal),
        nowMs: core.now(),
      });
      core.observer?.rejected({ request, requestId, path, code, status, seen: this });
      // A channel's own test shows it at once.
      if (peer !== null)
        core.rejectedRows.note({ request, path, peer, seen: this, error, clientError: () => ({ ...shown, status }) });
    }
  }

  private refusal(refusal: Refusal): Response {
    const refused = {
      ...refusal,
      language: this.language(),
      showsBudgets: this.core.state.settings.agentSignIn,
    };
    return refusalFor(this.request, this.path, refused, this.protocol);
  }

  /** Language of the caller; null = both languages, because a channel's test is stored. */
  private language(): Language | null {
    const { core, request, principal } = this;
    if (this.isTest) return null;
    const { user } = principal ?? core.authorize.ownerOf(request) ?? {};
    return languageFor(request.headers.get('accept-language'), user?.setting);
  }
}

/** A model of channels, in those of a key's groups that serve it; null = none does. */
function chainOf(model: string, groups: readonly string[], state: RelayState): Chain | null {
  const serving = groups.filter((group) => state.configured(group, model));
  return serving.length === 0 ? null : groupChain(model, serving);
}

const unknownPeer: Peer = { ip: () => '' };
