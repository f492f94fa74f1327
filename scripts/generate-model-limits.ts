/** Writes server/contract/model-limits.json from scripts/prices/model-limits.json; `limitsAreFresh` returns whether it is up to date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bareName } from '../server/contract/model-limits.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'contract', 'model-limits.json');

/** Longest answer, context window, 1 = may think first. */
type Row = readonly [output: number, context: number, thinks?: 1];
/** Their answers are counted with the encodings that the gateway has itself, and their thinking models refuse `max_tokens`. */
const ownEncoding = 'openai';

/** @returns the text of model-limits.json: `output context flags` -> names; of several hosts' limits the largest. */
export function generateLimits(): string {
  const source = readFileSync(join(root, 'scripts', 'prices', 'model-limits.json'), 'utf8');
  const { _about, ...providers } = JSON.parse(source) as Record<string, Record<string, Row>>;
  const models = new Map<string, { output: number; context: number; thinks: boolean; own: boolean }>();
  for (const [provider, rows] of Object.entries(providers)) {
    for (const [name, [output, context, thinks]] of Object.entries(rows)) {
      const known = models.get(bareName(name));
      models.set(bareName(name), {
        output: Math.max(known?.output ?? 0, Math.min(output, context)),
        context: Math.max(known?.context ?? 0, context),
        thinks: known?.thinks === true || thinks === 1,
        own: known?.own === true || provider === ownEncoding,
      });
    }
  }
  const groups = new Map<string, string[]>();
  for (const [name, { output, context, thinks, own }] of [...models].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = `${output} ${context} ${thinks ? 'r' : ''}${own ? 'o' : ''}`.trim();
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  const lines = [...groups].map(([key, names]) => `  ${JSON.stringify(key)}: ${JSON.stringify(names.join(' '))}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

export const limitsAreFresh = (): boolean => generateLimits() === readFileSync(target, 'utf8');

if (import.meta.main) writeFileSync(target, generateLimits());
