/** The option `model_rules` as rules that people edit one by one. What the form does not know stays as it is. Pure. */

/** As it is typed; '' and no words = nothing is said of it. */
export interface TypedRule {
  readonly models: string;
  readonly provider: string;
  readonly outputCap: string;
  readonly inputLimit: string;
  readonly thinking: string;
  /** Between commas. */
  readonly efforts: string;
  readonly refuses: readonly string[];
  readonly takes: readonly string[];
  readonly source: string;
  /** Members of the rule that have no field. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export const blankRule: TypedRule = {
  ...{ models: '', provider: '', outputCap: '', inputLimit: '', thinking: '', efforts: '', source: '' },
  ...{ refuses: [], takes: [], rest: {} },
};

const texts = ['models', 'provider', 'thinking', 'source'] as const;
const numbers = ['outputCap', 'inputLimit'] as const;
const lists = ['refuses', 'takes'] as const;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isWords = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((word) => typeof word === 'string');

function typed(rule: Record<string, unknown>): TypedRule | null {
  const { models, provider, thinking, source, outputCap, inputLimit, efforts, refuses, takes, ...rest } = rule;
  const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';
  const isNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';
  const fits =
    [models, provider, thinking, source].every(isText) &&
    [outputCap, inputLimit].every(isNumber) &&
    [efforts, refuses, takes].every((value) => value === undefined || isWords(value));
  if (!fits) return null;
  const text = (value: unknown): string => (value === undefined ? '' : String(value));
  const words = (value: unknown): readonly string[] => (isWords(value) ? value : []);
  return {
    ...{ models: text(models), provider: text(provider), thinking: text(thinking), source: text(source) },
    ...{ outputCap: text(outputCap), inputLimit: text(inputLimit), efforts: words(efforts).join(', ') },
    ...{ refuses: words(refuses), takes: words(takes), rest },
  };
}

/** @returns null = the text holds something else: it can only be edited as text. */
export function rulesIn(text: string): readonly TypedRule[] | null {
  let parsed: unknown;
  try {
    parsed = text.trim() === '' ? [] : JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(parsed)) return null;
  const rules = parsed.map((rule) => (isRecord(rule) ? typed(rule) : null));
  return rules.every((rule) => rule !== null) ? rules : null;
}

const wordsIn = (text: string): readonly string[] =>
  text
    .split(/[,，\s]+/)
    .map((word) => word.trim())
    .filter((word) => word !== '');

/** As it is stored. What is no number stays a text, for the option's kind to refuse. */
export function textOfRules(rules: readonly TypedRule[]): string {
  const stored = rules.map((rule) => {
    const found: Record<string, unknown> = {};
    for (const name of texts) if (rule[name].trim() !== '' || name === 'models') found[name] = rule[name].trim();
    for (const name of numbers) {
      const value = rule[name].replaceAll(',', '').trim();
      if (value !== '') found[name] = /^\d+$/.test(value) ? Number(value) : value;
    }
    const efforts = wordsIn(rule.efforts);
    if (efforts.length > 0) found.efforts = efforts;
    for (const name of lists) if (rule[name].length > 0) found[name] = rule[name];
    return { ...found, ...rule.rest };
  });
  return JSON.stringify(stored, null, 2);
}
