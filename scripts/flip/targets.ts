/** At which upstream, and with which of its models, a row of knowledge makes a difference. */
import { readFileSync } from 'node:fs';
import { bareName } from '../../server/contract/model-limits.ts';
import { doubleNames } from '../../server/practice/strict/names.ts';
import { doubles } from '../../server/practice/strict/table.ts';
import { allProviders } from '../../server/providers/catalogue.ts';
import type { ModelRow, ProviderRow } from '../../server/providers/knowledge/row.ts';
import { sameDemands, targetOf } from '../../server/providers/knowledge/target.ts';
import { type GridTarget, gridTargets } from '../../tests/practice/grid/targets.ts';

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
const table = JSON.parse(readFileSync(new URL('../prices/model-limits.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, object>
>;

const listed: readonly Place[] = [
  ...gridTargets.map(({ double, model }) => ({ double, model })),
  ...allProviders.flatMap(({ slug, models }) => models.map((model) => ({ double: slugs.get(slug) ?? '', model }))),
  ...Object.entries(table).flatMap(([maker, models]) =>
    Object.keys(models).map((model) => ({ double: renamed[maker] ?? maker, model })),
  ),
].filter(({ double }) => doubleNames.includes(double));

/** Doubles of the makers themselves. */
const own =
  'openai anthropic gemini mistral deepseek moonshot zhipu xai perplexity ali cohere minimax groq cerebras'.split(' ');
const ownFirst = ({ double }: Place, other: Place): number =>
  Number(own.includes(other.double)) - Number(own.includes(double));

const asTarget = (place: Place | undefined): GridTarget | null => (place === undefined ? null : { ...place, own: {} });

/** Later rows may say the same: where this one alone decides is looked for first. */
export function targetOfModel(row: ModelRow, rows: readonly ModelRow[]): GridTarget | null {
  const fitting = listed
    .filter(
      ({ double, model }) =>
        (row.provider === undefined || row.provider === slugOf.get(double)) && row.models.test(bareName(model)),
    )
    .toSorted(ownFirst);
  const decides = ({ double, model }: Place): boolean => {
    const said = rows.filter(
      ({ provider, models }) =>
        (provider === undefined || provider === slugOf.get(double)) && models.test(bareName(model)),
    );
    const without = said.filter((one) => one !== row);
    return !sameDemands(targetOf(model, said), targetOf(model, without));
  };
  return asTarget(fitting.find(decides) ?? fitting[0]);
}

export function targetOfProvider({ provider, models }: ProviderRow): GridTarget | null {
  const fitting = listed.filter(
    ({ double, model }) => double === slugs.get(provider) && (models === undefined || models.test(bareName(model))),
  );
  return asTarget(fitting[0]);
}
