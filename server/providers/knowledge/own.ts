/** What an operator says of models, as rows. */
import { RE2JS } from 're2js';
import type { ModelRule } from '../../contract/model-rules.ts';
import type { ModelPattern, ModelRow } from './row.ts';

/** The source of a row that an operator wrote. */
const ownSource = 'model_rules';

/** Members that the option spells otherwise than a row. */
const rowMembers: Readonly<Record<string, string>> = {
  alwaysThinks: 'thinkingRequired',
  thinksUnasked: 'thinkingByDefault',
  showsThoughts: 'thoughtsVisible',
  refuses: 'unsupported',
  refusesThinking: 'unsupportedWithThinking',
  takes: 'supported',
  switched: 'thinkingSwitch',
  suffixed: 'effortSuffix',
};

const ruleMembers = new Map(Object.entries(rowMembers).map(([rule, row]) => [row, rule]));

/** The name by which an operator sets a member of a row. */
export const ruleMember = (member: string): string => ruleMembers.get(member) ?? member;

/** Patterns seldom change, and never all at once. */
const maxCompiled = 1000;
const compiled = new Map<string, ModelPattern | null>();

/**
 * The runtime's own engine takes time that grows without bounds for some patterns and names, and clients choose the names. This
 * one takes time that grows with the name.
 * @returns null for what it cannot run: looking ahead or back, and references.
 */
function linearPattern(source: string): ModelPattern | null {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  let made: ModelPattern | null = null;
  try {
    made = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
  } catch {
    made = null;
  }
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(source, made);
  return made;
}

/** @returns the number of the first rule whose pattern cannot be run, from 1; 0 = all can. */
export const unrunnableRule = (rules: readonly ModelRule[]): number =>
  rules.findIndex(({ models }) => linearPattern(models) === null) + 1;

/** Rules that were stored before their patterns had to be linear, and are not, say nothing. */
export const ownRows = (rules: readonly ModelRule[]): readonly ModelRow[] =>
  rules.flatMap(({ models: pattern, source, ...rule }) => {
    const models = linearPattern(pattern);
    if (models === null) return [];
    const members = Object.entries(rule).map(([member, value]) => [rowMembers[member] ?? member, value]);
    return [{ ...(Object.fromEntries(members) as Partial<ModelRow>), models, source: source ?? ownSource }];
  });
