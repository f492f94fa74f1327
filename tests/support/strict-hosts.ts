/** What a vendor's double would say of a body, without a server. */
import { rowRules } from '../../server/practice/row-rules.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { modelRows } from '../../server/providers/knowledge/models.ts';
import { providerRows } from '../../server/providers/knowledge/providers.ts';
import { firstRefusal } from '../doubles/rule.ts';
import { sealsOf } from '../doubles/seal.ts';
import { doubles } from '../doubles/table.ts';

const sharedRules = rowRules(modelRows, providerRows);

export interface StrictHost {
  /** Of the catalogue. */
  readonly slug: string;
  /** @param text of the body as it goes over the wire. @returns null = it is taken. */
  refusal(text: string): ReturnType<typeof firstRefusal>;
}

/** @param name of the double. @param to the wire that it is asked in. */
export function strictHost(name: string, to: ProtocolId | 'converse', model: string): StrictHost {
  const double = doubles.find((one) => one.name === name);
  const door = double?.doors.find(({ wire, stream }) => wire.id === to && stream !== true);
  if (double === undefined || door === undefined) throw new Error(`${name} has no double of ${to}`);
  const rules = [...door.rules, ...sharedRules(double.slug, door.wire.id)];
  const seals = sealsOf(double.maker);
  const headers = new Headers({ 'anthropic-version': '2023-06-01' });
  return {
    slug: double.slug,
    refusal: (text) =>
      firstRefusal(rules, { model, seals, stream: false, headers, body: JSON.parse(text) as Record<string, unknown> }),
  };
}
