/** Models follow a JSON schema that is put into the prompt in words, as those do who have no member for it. */
import { parseJson, record } from '../../server/protocols/shared/json.ts';
import type { Heard } from './plan.ts';

const requested = /JSON schema:\s*(\{[\s\S]*\})/i;

function schemaIn(value: unknown): unknown {
  if (typeof value === 'string') return record(parseJson(requested.exec(value)?.[1] ?? '')) ?? undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const inner of Object.values(value)) {
    const found = schemaIn(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A member that holds a schema wins over words. */
export const withAskedSchema = (received: Heard, body: unknown): Heard =>
  received.schema != null ? received : { ...received, schema: schemaIn(body) ?? received.schema };
