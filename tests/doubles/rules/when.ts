/** Small rules: a member that a model or a provider refuses. */
import { valueAt } from '../../../server/practice/row-rules.ts';
import { invalid, type Refusal, type Rule, type Seen } from '../rule.ts';

export const when = (
  id: string,
  source: string,
  test: (seen: Seen) => boolean,
  refusal: Refusal | ((seen: Seen) => Refusal),
): Rule => ({
  id,
  source,
  reject: (seen) => (test(seen) ? (typeof refusal === 'function' ? refusal(seen) : refusal) : null),
});

/** Models that refuse a member altogether, or every value but some. */
export const rejected = (
  id: string,
  source: string,
  details: { readonly models: RegExp; readonly members: string; readonly but?: unknown },
  word: (member: string, model: string, value: unknown) => string,
): Rule => ({
  id,
  source,
  reject({ body, model }) {
    if (!details.models.test(model)) return null;
    const member = details.members.split(' ').find((name) => {
      const value = valueAt(body, name);
      return value !== undefined && (!('but' in details) || value !== details.but);
    });
    return member === undefined
      ? null
      : invalid(word(member, model, valueAt(body, member)), { param: member, code: 'unsupported_parameter' });
  },
});

/** Words that a member may hold, by model; the first that matches says which. */
export const worded = (
  id: string,
  source: string,
  member: string,
  words: readonly (readonly [models: RegExp, words: string])[],
): Rule => ({
  id,
  source,
  reject({ body, model }) {
    const value = valueAt(body, member);
    const allowed = words.find(([models]) => models.test(model))?.[1];
    if (value === undefined || allowed === undefined || allowed.split(' ').includes(String(value))) return null;
    return allowed === ''
      ? invalid(`Unrecognized request argument supplied: ${member}`, { param: member })
      : invalid(
          `Unsupported value: '${member}' does not support '${value}' with this model. Supported values are: ${allowed
            .split(' ')
            .map((word) => `'${word}'`)
            .join(', ')}.`,
          { param: member, code: 'unsupported_value' },
        );
  },
});
