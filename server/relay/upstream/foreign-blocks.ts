/** Takes out of a request what its upstream did not sign: after a change of channel it would refuse the whole conversation for it. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import { parseExact, record } from '../../protocols/shared/json.ts';
import type { ForeignBlock, Signing } from '../../protocols/shared/signature.ts';
import { type DeepEdit, editPaths } from '../intake/json-text.ts';
import type { JsonContent } from '../intake/parsed-request.ts';

type Members = Readonly<Record<string, unknown>>;

const editOf = ({ path, instead }: ForeignBlock): DeepEdit => ({
  path,
  value: instead === undefined ? undefined : JSON.stringify(instead),
});

function declare(blocks: readonly ForeignBlock[], dropped: string[]): void {
  for (const { reason } of blocks) if (reason !== null) dropped.push(reason);
}

/** @returns edits of the client's own members, in which every byte but the foreign blocks' is as it was. */
export function foreignEdits(
  json: JsonContent,
  blocks: readonly ForeignBlock[],
  dropped: string[],
): ReadonlyMap<string, string | undefined> {
  const edits = new Map<string, string | undefined>();
  declare(blocks, dropped);
  for (const name of new Set(blocks.map(({ path }) => String(path[0])))) {
    const own = blocks.filter(({ path }) => path[0] === name);
    const member = json.shape.members.findLast(({ key }) => key === name);
    if (member === undefined || own.some(({ path }) => path.length === 1)) {
      edits.set(name, undefined);
      continue;
    }
    const inner = own.map(editOf).map(({ path, value }) => ({ path: path.slice(1), value }));
    edits.set(name, editPaths(json.text.slice(member.valueStart, member.valueEnd), inner));
  }
  return edits;
}

/** The same for a translated request: a signature that its client passed on may still be another maker's. */
export function withoutForeign(body: Members, dialect: ProtocolId, signing: Signing, dropped: string[]): Members {
  const blocks = codecFor(dialect).foreignBlocks?.(body, signing) ?? [];
  if (blocks.length === 0) return body;
  declare(blocks, dropped);
  return record(parseExact(editPaths(JSON.stringify(body), blocks.map(editOf)))) ?? body;
}
