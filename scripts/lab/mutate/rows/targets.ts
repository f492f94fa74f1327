/** At which upstream, and with which of its models, a row of knowledge makes a difference. */
import { readFileSync } from 'node:fs';
import { bareName } from '../../../../server/contract/model-limits.ts';
import { allProviders, providerBySlug } from '../../../../server/providers/catalogue.ts';
import type { ModelRow, ProviderRow } from '../../../../server/providers/knowledge/row.ts';
import { sameDemands, targetFor, targetOf } from '../../../../server/providers/knowledge/target.ts';
import { probeInput } from '../../../../server/providers/probe.ts';
import { doubleNames, doubles } from '../../../../tests/doubles/table.ts';
import { type GridTarget, gridTargets } from '../../../../tests/practice/grid/targets.ts';

interface Place {
  readonly double: string;
  readonly model: string;
}

const slugs = new Map([...doubles.map(({ slug, name }) => [slug, name] as const), ['vertex', 'vertex'] as const]);
const slugOf = new Map([...slugs].map(([slug, name]) => [name, slug] as const));

/** What models.dev calls those who are played under another name. */
const renamed: Readonly<Record<string, string>> = {
  google: 'gemini',
  'amazon-bedrock': 'bedrock',
  'google-vertex': 'vertex',
  moonshotai: 'moonshot',
  zhipuai: 'zhipu',
  alibaba: 'ali',
  togetherai: 'together',
};
const table = JSON.parse(
  readFileSync(new URL('../../../prices/model-limits.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, object>>;

/** Names that no list has yet, of families that rows speak of. */
const publicModels: readonly Place[] = [
  { double: 'anthropic', model: 'claude-saga-1' },
  { double: 'anthropic', model: 'claude-opus-9' },
  { double: 'anthropic', model: 'claude-sonnet-5-5' },
  { double: 'moonshot', model: 'kimi-k3' },
  { double: 'xai', model: 'grok-4.5' },
  { double: 'zhipu-signed', model: 'glm-4' },
  { double: 'volcengine', model: 'doubao-pro-32k' },
  { double: 'openai', model: 'gpt-5.6' },
  { double: 'azure', model: 'gpt-5.6' },
];

const listed: readonly Place[] = [
  ...gridTargets.map(({ double, model }) => ({ double, model })),
  ...allProviders.flatMap(({ slug, models }) => models.map((model) => ({ double: slugs.get(slug) ?? '', model }))),
  ...Object.entries(table).flatMap(([maker, models]) =>
    Object.keys(models).map((model) => ({ double: renamed[maker] ?? maker, model })),
  ),
  ...publicModels,
].filter(({ double }) => doubleNames.includes(double));

/** Doubles of the makers themselves. */
const own =
  'openai anthropic gemini mistral deepseek moonshot zhipu xai perplexity ali cohere minimax groq cerebras'.split(' ');
const ownFirst = ({ double }: Place, other: Place): number =>
  Number(own.includes(other.double)) - Number(own.includes(double));

/** Whether a row has anything to say of what is asked there. */
export const appliesTo = (row: ModelRow | ProviderRow, { double, model }: Place): boolean =>
  (row.provider === undefined || row.provider === slugOf.get(double)) &&
  (row.models === undefined || row.models.test(bareName(model)));

const asTarget = (place: Place | undefined): GridTarget | null => (place === undefined ? null : { ...place, own: {} });

/** Lists name models that hear or draw, too: they take nothing of what is asked of a conversation. */
const isChat = ({ double, model }: Place): boolean => {
  const provider = providerBySlug(slugOf.get(double) ?? '');
  return provider !== undefined && ['chat', 'responses'].includes(probeInput(provider, model).kind);
};

/** Later rows may say the same: where this one alone decides is looked for first. */
export function targetOfModel(row: ModelRow, rows: readonly ModelRow[]): GridTarget | null {
  const others = (place: Place): number => rows.filter((one) => appliesTo(one, place)).length;
  const fitting = listed
    .filter((place) => appliesTo(row, place))
    .toSorted(
      (one, other) =>
        Number(isChat(other)) - Number(isChat(one)) || others(one) - others(other) || ownFirst(one, other),
    );
  const decides = (place: Place): boolean => {
    const matching = rows.filter((one) => appliesTo(one, place));
    const without = matching.filter((one) => one !== row);
    return !sameDemands(targetOf(place.model, matching), targetOf(place.model, without));
  };
  const deciding = fitting.filter(decides);
  const thinking = deciding.find(
    ({ double, model }) => targetFor(slugOf.get(double) ?? '', model).thinking !== 'none' && row.thinking !== 'none',
  );
  return asTarget(thinking ?? deciding[0] ?? fitting[0]);
}

/** A rule that holds only where a request is translated, or only where a channel lets a member through, needs a channel of its own. */
export function targetOfProvider({
  provider,
  models,
  dialect,
  member,
  translatedOnly,
}: ProviderRow): GridTarget | null {
  const [first] = listed.filter(
    ({ double, model }) => double === slugs.get(provider) && (models === undefined || models.test(bareName(model))),
  );
  const target = asTarget(first);
  if (target === null) return null;
  if (translatedOnly === true) return { ...target, as: 'told', fields: { setting: JSON.stringify({ dialect }) } };
  return member === 'service_tier'
    ? { ...target, as: 'tiers', fields: { setting: JSON.stringify({ allow_tiers: true, pass_through: false }) } }
    : target;
}
