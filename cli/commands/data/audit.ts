/** The audit trail. */

import type { AuditChange, AuditView } from '../../../server/contract/entities.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, type FlagValues, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { isoTime } from '../../output.ts';
import { listOf } from '../../parts/list-output.ts';
import { idOf } from '../../parts/numbers.ts';
import { pastTime } from '../../parts/when.ts';

export const list = listOf('audit.list', {
  columns: () => ({
    ...{ id: 'id', time: 'created_at', by: 'actor', action: 'action', target: 'target' },
    changes: (row) => summaryOf(row.changes),
    detail: ['detail', 1],
  }),
  input: (flags: FlagValues) => ({
    ...{ action: text(flags.action), actor: text(flags.by), target: text(flags.target) },
    from: pastTime(text(flags.since), '--since', Date.now()),
    to: pastTime(text(flags.until), '--until', Date.now()),
  }),
  limit: 20,
});

const placeOf = ({ kind, id, field, member }: AuditChange): string =>
  [kind === 'option' ? id : `${kind} ${id} ${field}`, ...(member === null ? [] : [member])].join(' · ');

const shown = (value: string | null): string => (value === null ? '–' : value === '' ? '""' : value);

const hidden = '***';
const lineOf = (change: AuditChange): string =>
  change.hidden
    ? `${placeOf(change)}: ${hidden}`
    : `${placeOf(change)}: ${shown(change.before)} → ${shown(change.after)}`;

/** The first of them, and how many there are besides. */
function summaryOf([first, ...others]: readonly AuditChange[]): string {
  if (first === undefined) return '';
  return others.length === 0 ? lineOf(first) : `${lineOf(first)} (+${others.length})`;
}

function linesOf({ say }: Context, row: AuditView): string[] {
  const more =
    row.changes_left === 0
      ? []
      : [say(`另有 ${row.changes_left} 处修改未保留或被截断`, `${row.changes_left} more are not kept or are cut`)];
  return [
    `#${row.id} ${isoTime(row.created_at)} ${row.action} ${row.target}`.trimEnd(),
    `${say('操作人', 'by')}: ${row.actor}${row.ip === '' ? '' : ` (${row.ip})`}`,
    ...(row.changes.length === 0 ? [`${say('内容', 'detail')}: ${row.detail}`] : row.changes.map(lineOf)),
    ...more,
  ];
}

export const get: CommandRun = async (context, _flags, ref) => {
  const row = await (await context.client()).call('audit.get', { id: idOf(ref, 'id') });
  context.output.object(row, linesOf(context, row), String(row.id));
};

export const undo: CommandRun = async (context, _flags, ref) => {
  const id = idOf(ref, 'id');
  const client = await context.client();
  const row = await client.call('audit.get', { id });
  // What cannot be put back is refused before anybody is asked.
  if (!row.undoable) throw new AppError('audit_not_undoable', { id });
  for (const line of linesOf(context, row)) context.output.note(line);
  await context.confirm(context.say('恢复到修改之前？', 'Undo this change?'));
  const done = await client.call('audit.undo', { id });
  context.output.object(
    done,
    [context.say(`已撤销 ${done.undone} 处修改`, `changes undone: ${done.undone}`)],
    String(id),
  );
};

export const verify: CommandRun = async (context) => {
  const found = await context.during((await context.client()).call('audit.verify'));
  const { checked, broken } = found;
  const line =
    broken === null
      ? context.say(`审计记录完整，共检查 ${checked} 条`, `the audit trail is intact: ${checked} entries checked`)
      : context.say(`第 ${broken} 条审计记录起链条断裂`, `the audit trail is broken at entry ${broken}`);
  context.output.object(found, [line], String(checked));
  if (found.broken !== null) throw new AppError('check_failed', { detail: `#${found.broken}` });
};
