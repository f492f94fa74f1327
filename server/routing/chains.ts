/** Virtual models compiled: each name with the leaves that its chain comes down to, and the walk of one request over them. Pure: relay, service and `route explain` use the same. */
import {
  type ChainTarget,
  maxChainDepth,
  maxLeaves,
  ordinaryFailures,
  type RequestClass,
  type TargetFailure,
  type VirtualModel,
} from '../contract/virtual-models.ts';

/** A model of channels that a request for the virtual one may reach. */
export interface Leaf {
  readonly model: string;
  /** null = any that serves the model. */
  readonly channel: number | null;
  /** null = the key's own. */
  readonly group: string | null;
  /** Targets that lead to it, the outermost first: the conditions of all hold. */
  readonly levels: readonly ChainTarget[];
  /** Where each of them stands, as `0.2`. */
  readonly places: readonly string[];
  /** Groups that may not be left: more than one different can never be met. */
  readonly boundaries: readonly string[];
  /** Remembers it for a conversation: what it serves, not where it stands. Above 0. */
  readonly mark: number;
}

/** Why a chain may not be saved. `path`: names from the outermost on. */
export interface ChainProblem {
  readonly kind: 'cycle' | 'depth' | 'leaves' | 'boundary';
  readonly path: readonly string[];
}

export interface Chain {
  readonly name: string;
  /** The name is a virtual model's, and not one of channels. */
  readonly isVirtual: boolean;
  readonly boundary: string;
  readonly leaves: readonly Leaf[];
}

interface Within {
  readonly names: readonly string[];
  readonly levels: readonly ChainTarget[];
  readonly places: readonly string[];
  readonly boundaries: readonly string[];
  readonly channel: number | null;
  readonly group: string | null;
}

type Known = ReadonlyMap<string, Pick<VirtualModel, 'name' | 'enabled' | 'boundary' | 'targets'>>;

/**
 * Comes to an end whatever is stored: a chain that is not sound loses what makes it so.
 * @param problems receives why it is not.
 */
function leavesOf(name: string, known: Known, problems: ChainProblem[]): readonly Leaf[] {
  const leaves: Leaf[] = [];
  let isFull = false;
  const enter = (within: Within): void => {
    const { names } = within;
    const own = known.get(names.at(-1) ?? '');
    if (own === undefined) return;
    const boundaries =
      own.boundary === '' || within.boundaries.includes(own.boundary)
        ? within.boundaries
        : [...within.boundaries, own.boundary];
    for (const [at, target] of own.targets.entries()) {
      if (isFull) return;
      const before = within.places.at(-1);
      const next: Within = {
        names,
        boundaries,
        levels: [...within.levels, target],
        places: [...within.places, before === undefined ? `${at}` : `${before}.${at}`],
        channel: target.channel ?? within.channel,
        group: target.group ?? within.group,
      };
      const inner = known.get(target.model);
      if (inner === undefined) addLeaf(target.model, next);
      else if (names.includes(target.model)) problems.push({ kind: 'cycle', path: [...names, target.model] });
      else if (names.length >= maxChainDepth) problems.push({ kind: 'depth', path: [...names, target.model] });
      else if (inner.enabled) enter({ ...next, names: [...names, target.model] });
    }
  };
  const addLeaf = (model: string, { names, levels, places, boundaries, channel, group }: Within): void => {
    if (leaves.length >= maxLeaves) {
      isFull = true;
      problems.push({ kind: 'leaves', path: names });
      return;
    }
    if (boundaries.length > 1 || (group !== null && boundaries.some((one) => one !== group)))
      problems.push({ kind: 'boundary', path: [...names, model] });
    leaves.push({ model, channel, group, levels, places, boundaries, mark: markOf(model, channel, group) });
  };
  enter({ names: [name], levels: [], places: [], boundaries: [], channel: null, group: null });
  return leaves;
}

const markOf = (model: string, channel: number | null, group: string | null): number =>
  (Number(Bun.hash.crc32(`${model}\0${channel ?? ''}\0${group ?? ''}`)) & 0x7fff_ffff) + 1;

const byName = <One extends { readonly name: string }>(models: readonly One[]): ReadonlyMap<string, One> =>
  new Map(models.map((one) => [one.name, one]));

/** @returns the enabled ones by name. */
export function compileChains(models: readonly VirtualModel[]): ReadonlyMap<string, Chain> {
  const known = byName(models);
  const chains = new Map<string, Chain>();
  for (const { name, enabled, boundary } of models)
    if (enabled) chains.set(name, { name, isVirtual: true, boundary, leaves: leavesOf(name, known, []) });
  return chains;
}

/** A model of channels in each of a key's groups, in their order. */
export const groupChain = (model: string, groups: readonly string[]): Chain => ({
  name: model,
  isVirtual: false,
  boundary: '',
  leaves: groups.map((group, at) => ({
    ...{ model, channel: null, group, levels: [{ model }], places: [`${at}`], boundaries: [] },
    mark: markOf(model, null, group),
  })),
});

/** A chain whose targets without a group are tried in each of a key's groups, before the target behind them. */
export const throughGroups = (chain: Chain, groups: readonly string[]): Chain => ({
  ...chain,
  leaves: chain.leaves.flatMap((leaf) =>
    leaf.group === null
      ? groups.map((group, at) => ({
          ...leaf,
          group,
          levels: [...leaf.levels, { model: leaf.model }],
          places: [...leaf.places, `${leaf.places.at(-1) ?? ''}.${at}`],
          mark: markOf(leaf.model, leaf.channel, group),
        }))
      : [leaf],
  ),
});

/** What is wrong with any chain once these are all there are, disabled ones among them: what is enabled later must be sound. */
export function chainProblems(
  models: readonly Pick<VirtualModel, 'name' | 'boundary' | 'targets'>[],
): readonly ChainProblem[] {
  const known = byName(models.map((one) => ({ ...one, enabled: true })));
  const problems: ChainProblem[] = [];
  for (const { name } of models) leavesOf(name, known, problems);
  return problems;
}

/** What a request is, as far as targets ask for it. */
export interface RequestFacts {
  /** As usual text has them. */
  readonly promptTokens: number;
  readonly images: boolean;
  readonly thinking: boolean;
  /** The class of the request that its agent states; null = none. */
  readonly requestClass: RequestClass | null;
  readonly agentType: string | null;
}

/** Who asks. */
export interface ChainCaller {
  readonly group: string;
  /** May this user use that group besides the key's own? */
  readonly mayUse: (group: string) => boolean;
  /** The one channel that the key names; null = none. */
  readonly pinnedChannel: number | null;
}

/** Why a target is not reached by a caller, whatever is asked for. */
const barriers = ['boundary', 'group', 'pinned'] as const;
export type Barrier = (typeof barriers)[number];

export const isBarrier = (outcome: TargetOutcome): outcome is Barrier =>
  (barriers as readonly TargetOutcome[]).includes(outcome);

/** @returns null = the caller may reach it. */
export function barrierTo(leaf: Leaf, { group: own, mayUse, pinnedChannel }: ChainCaller): Barrier | null {
  const group = leaf.group ?? own;
  if (leaf.boundaries.some((one) => one !== group)) return 'boundary';
  if (group !== own && !mayUse(group)) return 'group';
  return pinnedChannel !== null && leaf.channel !== null && leaf.channel !== pinnedChannel ? 'pinned' : null;
}

/** What became of a target. `limits`: those of its group, or of the key, are reached. `conditions`: the request is not what it is for. `turn`: another model must not go on with a signed thought. `not_after`: nothing failed that it waits for. */
export type TargetOutcome =
  | 'served'
  | 'failed'
  | 'uncovered'
  | 'limits'
  | 'no_price'
  | 'conditions'
  | 'turn'
  | 'not_after'
  | 'not_needed'
  | Barrier;

export interface ChainStep {
  readonly leaf: Leaf;
  readonly group: string;
  readonly outcome: TargetOutcome;
  /** Set where it failed. */
  readonly failure?: TargetFailure;
}

function meets({ levels }: Leaf, facts: RequestFacts): boolean {
  for (const { prompt_over: over, prompt_up_to: most, images, thinking, classes, agent_types: types } of levels) {
    if (over !== undefined && facts.promptTokens <= over) return false;
    if (most !== undefined && facts.promptTokens > most) return false;
    if (images !== undefined && facts.images !== images) return false;
    if (thinking !== undefined && facts.thinking !== thinking) return false;
    if (classes !== undefined && (facts.requestClass === null || !classes.includes(facts.requestClass))) return false;
    if (types !== undefined && (facts.agentType === null || !types.includes(facts.agentType))) return false;
  }
  return true;
}

/** Whether it may be tried now. A chain within another is entered once: what led into it is not asked for again. */
function admits({ levels, places }: Leaf, failure: TargetFailure | null, last: Leaf | null): boolean {
  return levels.every(({ after }, at) => {
    if (at < levels.length - 1 && last !== null && last.places[at] === places[at]) return true;
    if (failure === null) return after === undefined;
    return after === undefined ? ordinaryFailures.has(failure) : after.includes(failure);
  });
}

/** One request on its way over the leaves of a chain: each is reached once at most, so it ends. */
export class ChainWalk {
  /** What became of each leaf so far, in the chain's order; null = nothing yet. */
  private readonly outcomes: (TargetOutcome | null)[];
  private readonly failures = new Map<Leaf, TargetFailure>();
  private current: Leaf | null = null;
  private failure: TargetFailure | null = null;
  private lastFailed: Leaf | null = null;
  /** The one model of a turn that is signed; null = any. */
  private turnModel: string | null = null;
  private hasBegun = false;

  /**
   * @param remembered `mark` of the leaf that served the conversation, which goes first. 0 = none.
   * @param inTurn the request goes on within a turn whose thoughts one model has signed.
   */
  constructor(
    readonly chain: Chain,
    private readonly caller: ChainCaller,
    private readonly facts: RequestFacts,
    private readonly remembered: number,
    private readonly inTurn: boolean,
  ) {
    this.outcomes = chain.leaves.map((leaf) => barrierTo(leaf, caller));
  }

  /** Where it is; null = nowhere yet, or at the end. */
  get leaf(): Leaf | null {
    return this.current;
  }

  groupOf(leaf: Leaf): string {
    return leaf.group ?? this.caller.group;
  }

  /** Leaves that the caller may reach in some request. */
  get reachable(): readonly Leaf[] {
    return this.chain.leaves.filter((leaf) => barrierTo(leaf, this.caller) === null);
  }

  /** The next leaf that may be tried. @returns null = there is none. */
  next(): Leaf | null {
    const { leaves } = this.chain;
    // No leaf is entered twice, whoever forgot to say what became of it.
    if (this.current !== null && this.isOpen(leaves.indexOf(this.current))) this.failed('unavailable');
    this.current = null;
    if (!this.hasBegun && this.remembered !== 0) {
      const at = leaves.findIndex(({ mark }, index) => mark === this.remembered && this.isOpen(index));
      const leaf = leaves[at];
      if (leaf !== undefined && (this.inTurn || meets(leaf, this.facts))) return this.enter(leaf, at);
    }
    this.hasBegun = true;
    for (const [at, leaf] of leaves.entries()) {
      if (!this.isOpen(at)) continue;
      if (this.turnModel !== null && leaf.model !== this.turnModel) this.outcomes[at] = 'turn';
      else if (!meets(leaf, this.facts)) this.outcomes[at] = 'conditions';
      else if (admits(leaf, this.failure, this.lastFailed)) return this.enter(leaf, at);
    }
    return null;
  }

  /** Whether another leaf would be tried if the current one failed like that. */
  mayFollow(failure: TargetFailure): boolean {
    const { current } = this;
    return this.chain.leaves.some(
      (leaf, at) =>
        leaf !== current &&
        this.isOpen(at) &&
        (this.turnModel === null || leaf.model === this.turnModel) &&
        meets(leaf, this.facts) &&
        admits(leaf, failure, current),
    );
  }

  /** The leaf was not sent to. */
  skipped(outcome: 'uncovered' | 'no_price'): void {
    this.report(outcome);
  }

  /** Its group, or the key, may make no more requests now: for the targets behind it as if its upstream had said so. */
  limited(): void {
    this.failed('rate_limited', 'limits');
  }

  failed(failure: TargetFailure, outcome: 'failed' | 'limits' = 'failed'): void {
    const { current } = this;
    if (current === null) return;
    this.report(outcome);
    this.failures.set(current, failure);
    this.failure = failure;
    this.lastFailed = current;
  }

  served(): void {
    this.report('served');
  }

  /** All leaves in the chain's order. */
  steps(): readonly ChainStep[] {
    return this.chain.leaves.map((leaf, at) => {
      const failure = this.failures.get(leaf);
      return {
        leaf,
        group: this.groupOf(leaf),
        outcome: this.outcomes[at] ?? (this.current === leaf || this.isServed ? 'not_needed' : 'not_after'),
        ...(failure === undefined ? {} : { failure }),
      };
    });
  }

  private get isServed(): boolean {
    return this.outcomes.includes('served');
  }

  private isOpen(at: number): boolean {
    return this.outcomes[at] === null;
  }

  private enter(leaf: Leaf, at: number): Leaf {
    this.hasBegun = true;
    this.current = leaf;
    this.outcomes[at] = null;
    if (this.inTurn) this.turnModel ??= leaf.model;
    return leaf;
  }

  private report(outcome: TargetOutcome): void {
    const at = this.current === null ? -1 : this.chain.leaves.indexOf(this.current);
    if (at >= 0) this.outcomes[at] = outcome;
  }
}
