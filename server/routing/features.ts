/** Features of a body besides its model that decide prices, bounds and channels: bits by the folded names of its members, and for some a reader. */
import { AppError } from '../contract/errors.ts';
import { cheapestOnlyIf, dearest } from '../contract/pricing/dearest.ts';
import { guardedLookup, list, record, text } from '../protocols/shared/json.ts';
import { looseName, readingsOf, shownName, valuesOf } from '../protocols/shared/member-name.ts';
import { termValue } from '../protocols/shared/usage.ts';
import {
  advisersIn,
  callsIn,
  eachOf,
  type Hosted,
  type HostedUse,
  hostedByMember,
  hostedByTools,
  hostedNames,
  namedModels,
  noneHosted,
  type OtherModel,
  readsAgain,
  selectsHost,
} from '../providers/knowledge/builtin-tools.ts';
import { unsupportedMembers } from '../providers/knowledge/providers.ts';
import { answerNames } from './multipliers.ts';

type Members = Readonly<Record<string, unknown>>;

/**
 * A bit is set where a member of this name stands anywhere in the body, as the most forgiving parser reads names: what is
 * found later may be less, never more.
 */
export const Feature = {
  /** Service tiers, speeds, regions, other models to be served by. */
  modifiers: 1,
  /** Tools that the provider runs, and members that ask for them. */
  uses: 2,
  /** The choice of another host. */
  hosts: 4,
  /** Files and vector stores that the upstream keeps. */
  files: 8,
  /** Responses, conversations, items and containers that the upstream keeps. */
  stored: 16,
  /** Wishes to think. */
  thought: 32,
  /** Members inside of messages that some upstream refuses, seals of thoughts among them. */
  strays: 64,
  /** Wishes for several answers. */
  answers: 128,
  /** Wishes for sound. */
  sound: 256,
} as const;
export const allFeatures = 511;
/** What `featuresIn` reads. */
export const requestedMask = Feature.modifiers | Feature.uses | Feature.hosts;

/** Members with a price by their loose names: some upstreams read any spelling. */
const modifiers: Readonly<Record<string, string>> = {
  servicetier: 'service_tier',
  speed: 'speed',
  inferencegeo: 'inference_geo',
  models: 'models',
  fallbacks: 'fallbacks',
  fallbackmodels: 'fallback_models',
};
/** Lists of fallback models. A list whose responses name each model's share is priced by them, the other never goes upstream. */
export const modelLists: Readonly<Record<string, 'priced' | 'unpriced'>> = {
  models: 'unpriced',
  fallback_models: 'unpriced',
  fallbacks: 'priced',
};

/** Members that name files and the like, by their loose names. */
const fileNames: ReadonlySet<string> = new Set([
  'fileid',
  'fileids',
  'vectorstoreid',
  'vectorstoreids',
  'fileuri',
  'cachedcontent',
]);

const named: readonly (readonly [bit: number, looseNames: Iterable<string>])[] = [
  [Feature.modifiers, Object.keys(modifiers)],
  [Feature.uses, ['tools', 'definition', ...hostedNames]],
  [Feature.hosts, ['provider']],
  [Feature.files, fileNames],
  [Feature.stored, ['previousresponseid', 'conversation', 'container', 'containerid', 'id']],
  [
    Feature.thought,
    [
      ...['reasoningeffort', 'reasoning', 'thinking', 'generationconfig', 'outputconfig'],
      ...['chattemplatekwargs', 'enablethinking', 'think'],
    ],
  ],
  [Feature.strays, unsupportedMembers.map(looseName)],
  [Feature.answers, answerNames],
  [Feature.sound, ['modalities', 'generationconfig']],
];
const byLooseName = new Map<string, number>();
for (const [bit, names] of named) for (const name of names) byLooseName.set(name, (byLooseName.get(name) ?? 0) | bit);

/** Names already folded: requests use few, and use them again and again. */
const known = new Map<string, number>();
/** The features of names that were seen before; others go through `featureOf`. */
export const knownFeatures: ReadonlyMap<string, number> = known;
const maxKnown = 4000;
const maxKnownLength = 64;

/** @param name of a member, decoded. */
export function featureOf(name: string): number {
  const found = known.get(name);
  if (found !== undefined) return found;
  const bits = byLooseName.get(looseName(name)) ?? 0;
  if (name.length > maxKnownLength) return bits;
  if (known.size >= maxKnown) known.clear();
  known.set(name, bits);
  return bits;
}

/** A member with a price. */
export interface RequestedModifier {
  /** Where it stands: the name of a member, or of one in an object of the request's. */
  readonly path: readonly string[];
  readonly member: string;
  readonly value: string;
}

export interface RequestedFeatures {
  readonly modifiers: readonly RequestedModifier[];
  readonly uses: readonly HostedUse[];
  /** Paths of members that choose another host. */
  readonly hosts: readonly string[];
  /** Models that may work on the answer besides the one that is named. */
  readonly others: readonly OtherModel[];
  /** Tokens that the provider may give the model to read besides the request. */
  readonly reads: number;
  /** Calls that give it that: the model reads all there is once more after each. */
  readonly calls: number;
  /** Tokens that the dearest of these calls gives it, of those that have a bound. */
  readonly each: number;
  /** The whole prompt may be read once more. */
  readonly again: boolean;
}

const none: readonly never[] = [];
export const noFeatures: RequestedFeatures = {
  modifiers: none,
  uses: none,
  hosts: none,
  others: none,
  reads: 0,
  calls: 0,
  each: 0,
  again: false,
};

/** Objects that hold the conversation, schemas or the client's own notes: what they call `speed` is no wish. By loose names. */
const noOptions: ReadonlySet<string> = new Set(
  [
    'messages message system systemInstruction instructions prompt input inputs contents content prediction',
    'metadata clientMetadata text responseFormat format schema jsonSchema responseSchema responseJsonSchema properties',
    'toolChoice functionCall logitBias template variables',
  ]
    .join(' ')
    .toLowerCase()
    .split(' '),
);

interface Collected {
  modifiers: RequestedModifier[] | null;
  uses: HostedUse[] | null;
  hosts: string[] | null;
  others: OtherModel[] | null;
  reads: number;
  calls: number;
  each: number;
  /** Calls of all tools that it allows by one number; 0 = it names none. */
  most: number;
  again: boolean;
}

/** What is no list may be read as a list of one. */
const otherModels = (value: unknown): string | null =>
  (typeof value === 'object' || typeof value === 'string') && value !== null ? 'other models' : null;

/** More than any model writes. */
const maxLimit = 1_000_000_000;

/** Models that a list names, with limits of their own. */
const fallbacksIn = (items: readonly unknown[]): readonly OtherModel[] =>
  items.flatMap((item) => {
    const limits = readingsOf(record(item) ?? {}, 'maxtokens').map(({ value, place }) => ({
      value: Math.min(Math.ceil(Number(value)), maxLimit),
      place,
    }));
    const most = dearest(limits, 0);
    return namedModels([item]).map((model) => ({ model, calls: 1, writes: null, ...(most > 0 ? { most } : {}) }));
  });

/**
 * Tools that a turn adds to those of the request. Sources: Anthropic's tool additions (`tool.definition`, `tool_changes`),
 * OpenAI's items `additional_tools` and `tool_search_output`.
 */
function collectTurns(turns: unknown, into: Collected): void {
  for (const turn of list(turns)) {
    const own = record(turn);
    if (own === null) continue;
    const added = own.type === undefined ? [] : valuesOf(own, 'tools').flatMap(list);
    for (const item of list(own.content)) {
      const block = record(item);
      if (block === null) continue;
      for (const one of [block, ...valuesOf(block, 'toolchanges').flatMap(list)])
        added.push(...valuesOf(record(record(one)?.tool) ?? {}, 'definition'));
    }
    if (added.length > 0) collect({ tools: added }, none, into);
  }
}

/** Wrappers are opened: several clients and upstreams merge `extra_body` and the like into the request. */
function collect(object: Members, path: readonly string[], into: Collected): void {
  for (const key in object) {
    const value = object[key];
    const loose = looseName(key);
    const member = guardedLookup(modifiers, loose);
    if (member !== undefined) {
      const found = member in modelLists ? otherModels(value) : termValue(value);
      if (found !== null) {
        into.modifiers ??= [];
        into.modifiers.push({ path: [...path, key], member, value: found });
      }
      if (modelLists[member] === 'priced' && found !== null) {
        for (const fallback of fallbacksIn(Array.isArray(value) ? value : [value])) {
          into.others ??= [];
          into.others.push(fallback);
        }
      }
      continue;
    }
    if (loose === 'tools') {
      for (const adviser of advisersIn(value)) {
        into.others ??= [];
        into.others.push(adviser);
      }
    }
    if (loose === 'messages' || loose === 'input') collectTurns(value, into);
    if (loose === 'maxtoolcalls') into.most = Math.max(into.most, callsIn(value));
    const hosted = loose === 'tools' ? hostedByTools(value) : hostedByMember(loose, value);
    if (hosted !== noneHosted) addHosted(hosted, into);
    into.again ||= readsAgain(loose, value);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || noOptions.has(loose)) continue;
    const selected = selectsHost(loose, value);
    if (selected.length > 0) {
      const place = [...path, key].map(shownName).join('.');
      into.hosts ??= [];
      for (const name of selected) into.hosts.push(`${place}.${shownName(name)}`);
    }
    collect(value as Members, [...path, key], into);
  }
}

/** Each is a line of the bill. */
const maxUses = 128;

function addHosted(hosted: Hosted, into: Collected): void {
  into.reads += hosted.reads;
  into.calls += hosted.calls;
  into.each = Math.max(into.each, eachOf(hosted));
  for (const use of hosted.uses) {
    into.uses ??= [];
    into.uses.push(use);
  }
}

/** All of the calls that one number allows may be of the same tool, whichever it is. */
function allowCalls(into: Collected): void {
  const { most, calls } = into;
  if (calls > 0 && most > calls) {
    into.reads = (into.reads / calls) * most;
    into.calls = most;
  }
  into.uses =
    into.uses?.map((use) => (use.listed ? { ...use, max: Math.max(use.max, use.units * most) } : use)) ?? null;
}

/** A body is looked through once, however often it is tried. */
const read = new WeakMap<Members, RequestedFeatures>();

/** @throws AppError body_invalid. */
export function featuresIn(body: Members): RequestedFeatures {
  const found = read.get(body);
  if (found !== undefined) return found;
  const into: Collected = {
    ...{ modifiers: null, uses: null, hosts: null, others: null },
    ...{ reads: 0, calls: 0, each: 0, most: 0, again: false },
  };
  collect(body, none, into);
  if (into.most > 0) allowCalls(into);
  const { modifiers, uses, hosts, others, reads, calls, each, again } = into;
  if ((uses !== null && uses.length > maxUses) || (others !== null && others.length > maxUses))
    throw new AppError('body_invalid', { detail: `no more than ${maxUses} tools of the provider` });
  const requested =
    modifiers === null && uses === null && hosts === null && others === null && reads === 0 && !again
      ? noFeatures
      : {
          modifiers: modifiers ?? none,
          uses: uses ?? none,
          hosts: hosts ?? none,
          others: others ?? none,
          reads,
          calls,
          each,
          again,
        };
  read.set(body, requested);
  return requested;
}

/** What a function takes is no request. */
const ofFunctions: ReadonlySet<string> = new Set(['parameters', 'inputschema', 'arguments', 'args']);
const ofSchemas: ReadonlySet<string> = new Set(['properties', 'schema']);

const isCall = (members: Members): boolean =>
  cheapestOnlyIf(readingsOf(members, 'type'), 'type', (type) => type === 'tool_use');

/** @returns the first id of a file or the like in a request. */
export const firstFileIn = (body: Members): string | null => fileIn(body, false);

/** @param isPart it lies in a list: a turn's part, or a tool. What a call of a function was given stands nowhere else. */
function fileIn(value: unknown, isPart: boolean): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (const item of value) {
      const id = fileIn(item, true);
      if (id !== null) return id;
    }
    return null;
  }
  const members = value as Members;
  for (const name in members) {
    const loose = looseName(name);
    if (ofSchemas.has(loose) || (isPart && (ofFunctions.has(loose) || (loose === 'input' && isCall(members)))))
      continue;
    const found = members[name];
    const id = fileNames.has(loose) ? firstText(found) : fileIn(found, isPart);
    if (id !== null) return id;
  }
  return null;
}

function firstText(value: unknown): string | null {
  if (!Array.isArray(value)) return text(value);
  for (const item of value) {
    const id = text(item);
    if (id !== null) return id;
  }
  return null;
}
