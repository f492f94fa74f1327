/** The dialects among a provider's operations, with the names their makers have for them. */
import { allCodecs } from '../protocols/registry.ts';

export function dialectsOf(operations: readonly string[]) {
  const spoken = allCodecs.filter(({ traits }) => operations.includes(traits.chatOperation));
  return {
    dialects: spoken.map(({ id }) => id),
    dialect_labels: Object.fromEntries(spoken.map(({ id, traits }) => [id, traits.label])),
  };
}
