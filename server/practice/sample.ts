/** What a practice model fills a schema with. */
import { list, record } from '../protocols/shared/json.ts';

/**
 * The smallest value that a schema allows.
 * @param words in turn, for members that take text.
 */
export function sample(schema: unknown, words: readonly string[], at = 0): unknown {
  const fields = record(schema) ?? {};
  const [first] = list(fields.enum);
  if (first !== undefined) return first;
  if (fields.const !== undefined) return fields.const;
  const [choice] = [fields.anyOf, fields.oneOf, fields.allOf].map(list).find((one) => one.length > 0) ?? [];
  if (choice !== undefined) return sample(choice, words, at);
  const type = Array.isArray(fields.type) ? fields.type[0] : fields.type;
  switch (String(type ?? 'object').toLowerCase()) {
    case 'string':
      return words[at % words.length];
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [sample(fields.items, words, at)];
    case 'null':
      return null;
    default:
      return Object.fromEntries(
        Object.entries(record(fields.properties) ?? {}).map(([name, member], index) => [
          name,
          sample(member, words, index),
        ]),
      );
  }
}
