/**
 * Writes server/providers/model-lists.json, the models that each type of channel offers: views of the packages' data where it
 * has the provider's models, else scripts/prices/model-lists.json, which is kept by hand. `listsAreFresh` returns whether it is
 * up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { allProviders } from '../server/providers/catalogue.ts';
import { bedrockModels } from '../server/providers/knowledge/bedrock.ts';
import { type ModelFacts, unpackKnowledge } from '../server/providers/knowledge/facts.ts';
import { makers } from '../server/providers/knowledge/price-view.ts';
import type { Provider } from '../server/providers/provider.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'providers', 'model-lists.json');
const json = (...path: readonly string[]): unknown => JSON.parse(readFileSync(join(root, ...path), 'utf8'));

type Rows = Readonly<Record<string, ModelFacts>>;

/** What a provider's channels must serve for a kind of model to be of use there: one of these operations. */
const operationsOfKind: Readonly<Record<string, readonly string[]>> = {
  chat: ['chat', 'messages', 'generate', 'responses'],
  responses: ['responses'],
  completion: ['completions'],
  embedding: ['embeddings', 'embed_contents'],
  rerank: ['rerank'],
  image_generation: ['images', 'generate'],
  image_edit: ['image_edits'],
  audio_speech: ['speech', 'generate'],
  audio_transcription: ['transcriptions'],
  moderation: ['moderations'],
  realtime: ['realtime'],
};

/** Whose rows are of another service than the one that its type calls, are two or three, or cannot be told from those that are gone. */
const byHand: ReadonlySet<string> = new Set(['tencent', 'nvidia', 'openrouter']);

/** Rows that its channels do not call by this name. */
const others: Readonly<Record<string, RegExp>> = {
  // Tunings and their base models, of which an account has names of its own.
  openai: /^(?:ft:|.*\.ft-)/,
  // Its deployments; models of other makers have addresses of their own there.
  azure: /^(?!gpt-(?!35)|o\d|codex|computer-use|text-embedding|tts-|whisper|dall-e)/,
  // Live sessions and films, which no route serves.
  gemini: /(?:-live\b|native-audio|^veo|^lyria|^imagen-(?!3\.0-generate-002)|^gemini-gemma|^gemini-exp)/,
  xai: /-(?:beta|experimental|gv2)(?:-|$)/,
  // Where a version has to be named it is.
  vertex: /^(?:chirp|lyria|medlm|veo|claude-(?!.*@))/,
  cloudflare: /^(?!@)/,
};

const makersOfNames: ReadonlySet<string> = new Set(makers.filter((slug) => slug !== 'groq' && slug !== 'cerebras'));

/** genai-prices alone has it, which keeps the prices of models that are gone: LiteLLM says of each chat model what it takes. */
const isKeptName = ({ kind, takes }: ModelFacts): boolean => kind === 'chat' && takes === undefined;

interface ProviderList {
  /** In the order of the alphabet, or of the hand that wrote it. */
  readonly models: readonly string[];
  /** Names that were offered once and stay known. */
  readonly former: readonly string[];
  /** Last days, of both. */
  readonly retired: ReadonlyMap<string, string>;
}

class Lists {
  private readonly hand: ReadonlyMap<string, readonly string[]>;

  constructor(
    private readonly models: Readonly<Record<string, Rows>>,
    private readonly date: string,
    lists: Readonly<Record<string, string>>,
  ) {
    this.hand = new Map(Object.entries(lists).map(([slug, names]) => [slug, names.split(' ')]));
  }

  of(provider: Provider): ProviderList {
    const rows = byHand.has(provider.slug) ? undefined : this.models[provider.slug];
    const hand = this.hand.get(provider.slug) ?? [];
    if (provider.slug === 'aws') return this.ofClaude(hand);
    if (rows === undefined) return { models: hand, former: [], retired: new Map() };
    const models = Object.keys(rows).filter((name) => this.isOffered(provider, name, rows[name], hand.includes(name)));
    const former = hand.filter((name) => !models.includes(name));
    const retired = new Map<string, string>();
    for (const name of [...models, ...former]) {
      const day = rows[name]?.retired;
      if (day !== undefined) retired.set(name, day);
    }
    return { models, former, retired };
  }

  /** Its models have Anthropic's names; the rows of their ids say when they go. */
  private ofClaude(hand: readonly string[]): ProviderList {
    const retired = new Map<string, string>();
    for (const { id, names } of bedrockModels) {
      const day = this.models.aws?.[id]?.retired;
      if (day !== undefined) for (const name of names) retired.set(name, day);
    }
    const named = [...new Set([...hand, ...bedrockModels.flatMap(({ names }) => names)])];
    const isOver = (name: string): boolean => (retired.get(name) ?? '9999') <= this.date;
    return { models: named.filter((name) => !isOver(name)), former: named.filter(isOver), retired };
  }

  /** @param isByHand a person chose it once. */
  private isOffered(
    { slug, operations }: Provider,
    name: string,
    facts: ModelFacts | undefined,
    isByHand: boolean,
  ): boolean {
    if (facts === undefined || others[slug]?.test(name) === true) return false;
    if (facts.retired !== undefined && facts.retired <= this.date) return false;
    if (!operationsOfKind[facts.kind]?.some((operation) => operations.includes(operation))) return false;
    if (facts.by === 'single' && isKeptName(facts)) return false;
    if (isByHand) return true;
    const isPriced = facts.price?.input !== undefined || facts.each?.picture !== undefined;
    return isPriced && (facts.by !== 'single' || slug === 'azure' || makersOfNames.has(slug));
  }
}

/** @returns the text of model-lists.json. */
export function generateLists(): string {
  const { date, models } = unpackKnowledge(
    readFileSync(join(root, 'server', 'providers', 'knowledge', 'data', 'models.json'), 'utf8'),
  );
  const { read, lists } = json('scripts', 'prices', 'model-lists.json') as {
    read: string;
    lists: Record<string, string>;
  };
  const all = new Lists(models, date, lists);
  const rows = allProviders.flatMap((provider) => {
    const { models: offered, former, retired } = all.of(provider);
    if (offered.length + former.length === 0) return [];
    const days = Object.fromEntries(
      [...Map.groupBy(retired, ([, day]) => day)]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([day, names]) => [day, names.map(([name]) => name).join(' ')]),
    );
    const isView = models[provider.slug] !== undefined && !byHand.has(provider.slug);
    const row = {
      as_of: isView ? date : read,
      models: offered.join(' '),
      former: former.join(' '),
      retired: days,
    };
    return [[provider.slug, row] as const];
  });
  return `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`;
}

/** @returns provider -> all models that it has or had, as the file says. */
export function shippedLists(): readonly (readonly [slug: string, names: readonly string[]])[] {
  const rows = json('server', 'providers', 'model-lists.json') as Record<string, { models: string; former: string }>;
  return Object.entries(rows).map(([slug, { models, former }]) => [slug, `${models} ${former}`.trim().split(' ')]);
}

export const listsAreFresh = (): boolean => generateLists() === readFileSync(target, 'utf8');
export const writeLists = (): void => writeFileSync(target, generateLists());

if (import.meta.main) writeLists();
