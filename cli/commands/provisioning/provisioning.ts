/** Declarative files: what they would change, changing it, and writing one. */

import { AppError } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import type { ProvisionChange } from '../../../server/contract/provision.ts';
import { escaped } from '../../../server/contract/safe-text.ts';
import type { Client } from '../../client.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { readDocument } from './document.ts';

const signs = { create: '+', update: '~', delete: '-', unchanged: '=' } as const;

function print(context: Context, changes: readonly ProvisionChange[]): number {
  const moved = changes.filter((change) => change.action !== 'unchanged');
  const lines = moved.flatMap(({ action, kind, name, fields }) => [
    `${signs[action]} ${kind} ${name}`,
    ...fields.map((field) => `    ${field}`),
  ]);
  const counted = (action: ProvisionChange['action']) => changes.filter((change) => change.action === action).length;
  const counts = {
    created: counted('create'),
    updated: counted('update'),
    deleted: counted('delete'),
    unchanged: counted('unchanged'),
  };
  const sum = context.say(
    `${moved.length} 处修改（新建 ${counts.created}，修改 ${counts.updated}，删除 ${counts.deleted}），${counts.unchanged} 项未变`,
    `${moved.length} changes (${counts.created} created, ${counts.updated} updated, ${counts.deleted} deleted), ${counts.unchanged} unchanged`,
  );
  for (const { kind, name, notes } of changes)
    for (const note of notes ?? []) context.output.note(`${kind} ${name}: ${textIn(note, context.language)}`);
  context.output.object({ changes: moved, ...counts }, [...lines, sum], String(moved.length));
  return moved.length;
}

function fileOf(input: string | undefined): string {
  if (input === undefined) throw new AppError('input_needed', { flags: '-f' });
  return input;
}

const differences = (count: number): void => {
  if (count > 0) throw new AppError('differences', { count });
};

export const apply: CommandRun = async (context, flags) => {
  const document = await readDocument(context, fileOf(text(flags.file)));
  const client = await context.client();
  const prune = flags.prune === true;
  const dryRun = flags.dryRun === true;
  if (prune && !dryRun) {
    const planned = await client.call('provision.diff', { document, prune });
    const gone = planned
      .filter((change) => change.action === 'delete')
      .map((change) => `${change.kind} ${change.name}`);
    if (gone.length > 0) await context.confirm(context.say(`删除 ${gone.join('、')}？`, `Delete ${gone.join(', ')}?`));
  }
  const changes = dryRun
    ? await client.call('provision.diff', { document, prune })
    : await client.call('provision.apply', { document, prune });
  const count = print(context, changes);
  if (flags.exitCode === true) differences(count);
};

export const diff: CommandRun = async (context, flags) => {
  const document = await readDocument(context, fileOf(text(flags.file)));
  const client = await context.client();
  const prune = flags.prune === true;
  differences(print(context, await client.call('provision.diff', { document, prune })));
};

/** A link to a document is known to who has it alone: no file can bring it back. */
async function noteLinks(context: Context, client: Client): Promise<void> {
  // Who may export may not always read links.
  const links = await client.call('link.list', { all: true, page_size: 1 }).catch(() => null);
  if (links === null || links.total === 0) return;
  const { total } = links;
  context.output.note(
    context.say(
      `文件不含单据链接（${total} 个）：只有拿到链接的人知道它，请用 gateway link create 重新生成`,
      `links to documents (${total}) are not in the file: only who has one knows it; make new ones with gateway link create`,
    ),
  );
}

export const exportSite: CommandRun = async (context, flags) => {
  const client = await context.client();
  const document = await client.call('provision.export', { balances: flags.balances === true });
  await noteLinks(context, client);
  if (context.output.format === 'json') return context.output.object(document, [], '');
  const { stringify } = await import('yaml');
  const plain = stringify(document, { lineWidth: 0 });
  const quoted = stringify(document, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' });
  context.output.raw(escaped(plain) === plain ? plain : escaped(quoted));
};
