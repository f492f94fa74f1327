/** A request for a virtual model: its way over the targets of the chain, each planned and covered before it is sent to. */
import { AppError } from '../../contract/errors.ts';
import { mayUseGroup } from '../../contract/key-groups.ts';
import type { TargetFailure } from '../../contract/virtual-models.ts';
import { isInSignedTurn } from '../../protocols/shared/signed-turn.ts';
import { type Chain, type ChainStep, ChainWalk, type Leaf } from '../../routing/chains.ts';
import { Feature } from '../../routing/features.ts';
import { requestsThinking } from '../../routing/offers.ts';
import { agentOf } from '../intake/agent.ts';
import type { ParsedRequest, Principal } from '../intake/parsed-request.ts';
import { estimatedPromptTokens } from '../intake/prompt.ts';
import { conversationKey, conversationName, keptIds } from '../routing/affinity.ts';
import { isOurs } from '../shared/defect.ts';
import type { UpstreamFailure } from '../shared/failure.ts';
import type { RelayState } from '../state/state.ts';
import type { Admission } from './limits.ts';
import type { ChainTargetRequest, RequestChain, Reservation } from './reservation.ts';
import { planFor, type ReserveCore, reserve, targetWithin } from './reserve.ts';
import { TargetAdmission } from './target-admission.ts';

/** No channel can serve the target. */
const notServed: ReadonlySet<string> = new Set([
  'channel_unavailable',
  'model_not_found',
  'channel_pin_unknown',
  'channel_pin_disabled',
  'channel_pin_unbound',
  'key_channels',
  'key_channels_gone',
  'previous_response_not_found',
  'stored_id_refused',
  'member_not_allowed',
]);
/** Less money would do. */
const tooDear: ReadonlySet<string> = new Set([
  'user_exhausted',
  'token_exhausted',
  'token_budget_day',
  'token_budget_month',
  'budget_token',
  'budget_token_total',
  'budget_user',
  'budget_user_total',
  'budget_group',
  'budget_group_total',
  'budget_label',
  'budget_label_total',
  'budget_end_user',
  'budget_end_user_total',
  'budget_site',
  'budget_site_total',
]);

/** Another target's group may have room, or the target may take fewer tokens. */
const tooMany: ReadonlySet<string> = new Set(['limit_rpm', 'limit_tpm', 'limit_concurrency', 'request_tokens']);

/** @returns null = another target would meet the same, or must not be asked for it. */
function failureOf({
  class: kind,
  status,
  reason,
  refusal,
  ordered,
  delivered,
}: UpstreamFailure): TargetFailure | null {
  if (ordered === true || delivered === true) return null;
  if (refusal?.reason === 'context') return 'context_too_long';
  if (kind === 'refusal') return 'content_refused';
  if (refusal?.reason === 'missing' || status === 404) return 'no_model';
  if (status === 429) return 'rate_limited';
  if (kind === 'key') return 'key';
  if (kind !== 'host') return null;
  return reason === 'timeout' ? 'timeout' : 'unavailable';
}

export class ChainRun implements RequestChain {
  private readonly walk: ChainWalk;
  /** The error of the last target that could not be planned or covered. */
  private refused: unknown = null;
  private waitingSinceMs: number | null = null;
  /** null = no group of a target has limits besides the key's. */
  private targetAdmission: TargetAdmission | null = null;
  /** Names the conversation that stays with its target. */
  private readonly conversation: string | null;

  /** @throws AppError model_not_allowed: the key's list lacks a model that the request may reach. */
  constructor(
    private readonly core: ReserveCore,
    chain: Chain,
    private readonly parsed: ParsedRequest,
    private readonly principal: Principal,
  ) {
    const { state, affinity } = core.planDeps;
    const { prompt, body } = parsed;
    const { group, pinnedChannel, user } = principal;
    const inTurn = isInSignedTurn(body);
    this.conversation = conversationKey(parsed, principal);
    // Others may begin with the same words: one failure must not move all that does.
    const isNamed = inTurn || conversationName(parsed) !== null;
    const remembered = isNamed ? (affinity.find(this.conversation)?.channelId ?? 0) : 0;
    const facts = {
      promptTokens: estimatedPromptTokens(prompt),
      images: (prompt.bound.media.imageInput ?? 0) > 0,
      thinking: (prompt.features & Feature.thought) !== 0 && requestsThinking(body),
      ...agentOf(parsed),
    };
    const mayUse = (other: string) => mayUseGroup(state.settings, user.group, other);
    const caller = { group, pinnedChannel, mayUse };
    const walk = new ChainWalk(chain, caller, facts, this.keptMark(chain, group) || remembered, inTurn);
    for (const { model } of walk.reachable) core.authorize.allowModel(principal, model);
    this.walk = walk;
  }

  get name(): string {
    return this.walk.chain.name;
  }

  get isVirtual(): boolean {
    return this.walk.chain.isVirtual;
  }

  get models(): readonly string[] {
    return [this.name, ...this.walk.reachable.map(({ model }) => model)];
  }

  /** Where it would go first, whatever that costs; null = nowhere. */
  first(): ChainTargetRequest | null {
    return this.next();
  }

  /** Holds for the first target that can be covered. @param own the request's, in the key's group where that has one. @throws AppError as plan and reserve do, of the last one that was refused. */
  async begin(
    own: Admission,
    make: (target: ChainTargetRequest, admission: Admission) => Reservation,
  ): Promise<Reservation> {
    const { core, walk } = this;
    // A key with several groups is counted in that of the target alone.
    const group = this.principal.groups === undefined ? this.principal.group : '';
    const isLimited = (leaf: Leaf) => walk.groupOf(leaf) !== group && core.limits.countsIn(walk.groupOf(leaf));
    const inGroups = walk.reachable.some(isLimited) ? new TargetAdmission(core, own, group) : null;
    this.targetAdmission = inGroups;
    for (let target = this.next(); target !== null; target = this.next()) {
      inGroups?.aim(target.principal);
      const reservation = make(target, inGroups ?? own);
      try {
        await reserve(core, reservation);
        return reservation;
      } catch (error) {
        inGroups?.withdraw();
        if (!(error instanceof AppError)) throw error;
        if (tooDear.has(error.code)) walk.skipped('uncovered');
        else if (tooMany.has(error.code)) walk.limited();
        else throw error;
        this.refused = error;
      }
    }
    if (this.refused !== null) throw this.refused;
    throw new AppError('channel_unavailable', { group: this.principal.group, model: this.name });
  }

  async goOn(reservation: Reservation, failure: UpstreamFailure | null): Promise<boolean> {
    // None of its channels' providers offers the operation.
    const kind = failure === null ? 'no_model' : failureOf(failure);
    if (kind === null) return false;
    this.walk.failed(kind);
    try {
      for (let target = this.next(); target !== null; target = this.next()) {
        this.targetAdmission?.aim(target.principal);
        const within = targetWithin(this.core, target, reservation.mostTokens);
        if (within === null) {
          this.walk.limited();
          continue;
        }
        const passedOver = await reservation.retarget(within);
        if (passedOver === null) return true;
        if (passedOver === 'limits') this.walk.limited();
        else this.walk.skipped(passedOver);
      }
    } catch (error) {
      // The failure before it is what the client is told.
      if (isOurs(error)) this.core.report(error, this.parsed.requestId);
    }
    return false;
  }

  mayFollow(failure: TargetFailure): boolean {
    return this.walk.mayFollow(failure);
  }

  served(): void {
    const { leaf } = this.walk;
    if (leaf === null) return;
    this.walk.served();
    this.core.planDeps.affinity.store(this.conversation, leaf.mark);
  }

  waitingSince(nowMs: number): number {
    this.waitingSinceMs ??= nowMs;
    return this.waitingSinceMs;
  }

  steps(): readonly ChainStep[] {
    return this.walk.steps();
  }

  /** The next target with its plan. @throws AppError storage_unavailable. */
  private next(): ChainTargetRequest | null {
    const { core, walk } = this;
    for (let leaf = walk.next(); leaf !== null; leaf = walk.next()) {
      const parsed: ParsedRequest = { ...this.parsed, model: leaf.model };
      const { groups: _, ...caller } = this.principal;
      const principal: Principal = { ...caller, group: walk.groupOf(leaf) };
      try {
        const plan = planFor(core, parsed, principal, false, leaf.channel);
        const trouble = this.troubleOf(leaf, plan.candidates.at(0), plan.settings.shortWaitMs);
        if (trouble === null) return { parsed, principal, plan };
        walk.failed(trouble);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === 'model_price_unset') walk.skipped('no_price');
        else if (notServed.has(error.code)) walk.failed('no_model');
        else throw error;
        this.refused = error;
      }
    }
    return null;
  }

  /** Its best channel is in trouble, and another target is there instead. */
  private troubleOf(
    { model }: Leaf,
    best: ReturnType<RelayState['channel']>,
    shortWaitMs: number,
  ): TargetFailure | null {
    const { health } = this.core.planDeps;
    if (best === undefined) return null;
    const condition = health.condition(best, model);
    if (condition === 'up') return null;
    if (condition === 'cooling' && health.waitMs(best, model) <= shortWaitMs) return null;
    const failure = condition === 'cooling' ? 'rate_limited' : 'unavailable';
    return this.walk.mayFollow(failure) ? failure : null;
  }

  /** The channel that holds a stored response or file: it is continued where it was made. @returns 0 = the request names nothing that is known. */
  private keptMark(chain: Chain, group: string): number {
    const { parsed, core } = this;
    if ((parsed.prompt.features & Feature.stored) === 0) return 0;
    const { affinity, state } = core.planDeps;
    const bound = this.principal.token?.channels;
    for (const id of keptIds(parsed)) {
      const kept = affinity.kept(id);
      if (kept === null) continue;
      const { channelId } = kept;
      const leaf = chain.leaves.find(
        ({ model, group: own, channel }) =>
          (channel === null || channel === channelId) &&
          state
            .candidates(own ?? group, model, bound)
            .some((tier) => tier.some(({ id: serving }) => serving === channelId)),
      );
      if (leaf !== undefined) return leaf.mark;
    }
    return 0;
  }
}
