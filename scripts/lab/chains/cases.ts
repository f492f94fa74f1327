/** Random virtual models, callers, requests and failures, and what must hold of every walk over them. */
import {
  type ChainTarget,
  maxChainDepth,
  ordinaryFailures,
  type RequestClass,
  requestClasses,
  type TargetFailure,
  targetFailures,
  type VirtualModel,
} from '../../../server/contract/virtual-models.ts';
import {
  type ChainCaller,
  ChainWalk,
  chainProblems,
  compileChains,
  type RequestFacts,
} from '../../../server/routing/chains.ts';
import { randomOf } from '../../../tests/support/random.ts';

export interface ChainCase {
  readonly number: number;
  readonly models: readonly VirtualModel[];
  readonly caller: ChainCaller;
  readonly usable: readonly string[];
  readonly facts: RequestFacts;
  readonly remembered: number;
  readonly inTurn: boolean;
  /** How the targets that are reached fail, one after the other. */
  readonly failures: readonly (TargetFailure | 'uncovered' | 'no_price')[];
}

const groups = ['default', 'vip', 'secret'] as const;
const real = ['m0', 'm1', 'm2', 'm3', 'm4'] as const;

function caseOf(number: number, next: () => number): ChainCase {
  const below = (most: number): number => Math.floor(next() * most);
  const chance = (share: number): boolean => next() < share;
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const some = <T>(list: readonly T[]): T[] => list.filter(() => chance(0.4));
  const names = Array.from({ length: 1 + below(7) }, (_, at) => `v${at}`);
  const targetOf = (): ChainTarget => ({
    model: chance(0.35) ? one(names) : one(real),
    ...(chance(0.2) ? { channel: 1 + below(3) } : {}),
    ...(chance(0.3) ? { group: one(groups) } : {}),
    ...(chance(0.3) ? { after: [one(targetFailures), ...some(targetFailures)] } : {}),
    ...(chance(0.15) ? { prompt_over: below(100) } : {}),
    ...(chance(0.15) ? { prompt_up_to: 50 + below(100) } : {}),
    ...(chance(0.1) ? { images: chance(0.5) } : {}),
    ...(chance(0.1) ? { thinking: chance(0.5) } : {}),
    ...(chance(0.1) ? { classes: [one(requestClasses)] } : {}),
  });
  const models = names.map(
    (name, id): VirtualModel => ({
      id,
      name,
      enabled: chance(0.9),
      boundary: chance(0.25) ? one(groups) : '',
      targets: Array.from({ length: 1 + below(5) }, targetOf),
    }),
  );
  const usable = ['default', ...(chance(0.6) ? ['vip'] : [])];
  const marks = [...compileChains(models).values()].flatMap(({ leaves }) => leaves.map(({ mark }) => mark));
  return {
    number,
    models,
    usable,
    caller: { group: one(usable), mayUse: (group) => usable.includes(group), pinnedChannel: chance(0.1) ? 1 : null },
    facts: {
      promptTokens: below(200),
      images: chance(0.3),
      thinking: chance(0.3),
      requestClass: chance(0.5) ? one<RequestClass>(requestClasses) : null,
      agentType: null,
    },
    remembered: chance(0.3) && marks.length > 0 ? one(marks) : 0,
    inTurn: chance(0.2),
    failures: Array.from({ length: 80 }, () =>
      chance(0.1) ? one(['uncovered', 'no_price'] as const) : one(targetFailures),
    ),
  };
}

export function chainCases(seed: number, count: number): readonly ChainCase[] {
  const next = randomOf(seed);
  return Array.from({ length: count }, (_, number) => caseOf(number, next));
}

const isNested = (models: readonly VirtualModel[], name: string): boolean => models.some((one) => one.name === name);

/** Read from the definition, beside what the walk does. @returns a target's conditions that the request does not meet. */
function unmet({ levels }: { readonly levels: readonly ChainTarget[] }, facts: RequestFacts): readonly string[] {
  return levels.flatMap((level) => [
    ...(facts.promptTokens <= (level.prompt_over ?? -1) ? ['prompt_over'] : []),
    ...(facts.promptTokens > (level.prompt_up_to ?? Number.POSITIVE_INFINITY) ? ['prompt_up_to'] : []),
    ...((level.images ?? facts.images) === facts.images ? [] : ['images']),
    ...((level.thinking ?? facts.thinking) === facts.thinking ? [] : ['thinking']),
    ...(level.classes === undefined || level.classes.some((word) => word === facts.requestClass) ? [] : ['classes']),
  ]);
}

/** Whether names lead back to themselves, by following every way. */
function hasCycle(models: readonly VirtualModel[]): boolean {
  const follow = (name: string, seen: readonly string[]): boolean =>
    seen.includes(name) ||
    (models.find((one) => one.name === name)?.targets ?? []).some(({ model }) => follow(model, [...seen, name]));
  return models.some(({ name }) => follow(name, []));
}

/** @returns what is wrong, one line each. */
export function runChainCase(one: ChainCase): readonly string[] {
  const { number, models, caller, usable, facts, remembered, inTurn, failures } = one;
  const wrong: string[] = [];
  const say = (text: string): void => void wrong.push(`case ${number}: ${text}`);
  const problems = chainProblems(models);
  if (
    hasCycle(models) !== problems.some(({ kind }) => kind === 'cycle') &&
    !problems.some(({ kind }) => kind !== 'cycle')
  )
    say('a cycle is not told');
  for (const chain of compileChains(models).values()) {
    const walk = new ChainWalk(chain, caller, facts, remembered, inTurn);
    const reached = new Set<unknown>();
    let failure: TargetFailure | null = null;
    let turnModel: string | null = null;
    for (let leaf = walk.next(), at = 0; leaf !== null; leaf = walk.next(), at++) {
      if (reached.has(leaf)) say(`${chain.name} comes back to ${leaf.model}`);
      if (reached.size > 64) return [...wrong, `case ${number}: ${chain.name} does not end`];
      reached.add(leaf);
      const group = walk.groupOf(leaf);
      if (isNested(models, leaf.model)) say(`${chain.name} reaches the virtual ${leaf.model}`);
      if (leaf.levels.length > maxChainDepth) say(`${chain.name} is deeper than ${maxChainDepth}`);
      if (leaf.boundaries.some((boundary) => boundary !== group))
        say(`${chain.name} leaves ${leaf.boundaries} for ${group}`);
      if (group !== caller.group && !usable.includes(group)) say(`${chain.name} uses ${group}`);
      if (inTurn && turnModel !== null && leaf.model !== turnModel) say(`${chain.name} changes ${turnModel} in a turn`);
      turnModel ??= leaf.model;
      const isRemembered = reached.size === 1 && leaf.mark === remembered;
      if (!(inTurn && isRemembered) && unmet(leaf, facts).length > 0)
        say(`${chain.name} ignores ${unmet(leaf, facts)}`);
      const last = leaf.levels.at(-1);
      const { after } = last ?? {};
      const allowed =
        failure === null ? after === undefined : (after?.includes(failure) ?? ordinaryFailures.has(failure));
      if (!isRemembered && !allowed) say(`${chain.name} goes on to ${leaf.model} after ${failure}`);
      const outcome = failures[at] ?? 'unavailable';
      if (outcome === 'uncovered' || outcome === 'no_price') walk.skipped(outcome);
      else {
        failure = outcome;
        walk.failed(outcome);
      }
    }
  }
  return wrong;
}
