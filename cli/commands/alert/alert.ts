/** Which alerts are sent to operators, and whether they arrive. */
import { AppError } from '../../../server/contract/errors.ts';
import type { CommandRun } from '../../command.ts';
import { isoTime } from '../../output.ts';

export const list: CommandRun = async (context) => {
  const { targets, alerts } = await (await context.client()).call('alert.list');
  const who = targets.length === 0 ? context.say('无', 'nobody') : targets.join(', ');
  context.output.note(context.say(`通知：${who}`, `recipients: ${who}`));
  context.output.list(
    alerts,
    [
      { name: 'kind', value: (row) => row.kind },
      { name: 'about', value: (row) => row.subject },
      { name: 'told', value: (row) => (row.told_at === 0 ? '' : isoTime(row.told_at)) },
      { name: 'text', value: (row) => row.text },
    ],
    (row) => `${row.kind}:${row.subject}`,
  );
};

export const test: CommandRun = async (context) => {
  const results = await context.during((await context.client()).call('alert.test'));
  context.output.list(
    results,
    [
      { name: 'target', value: (row) => row.target },
      { name: 'result', value: (row) => (row.ok ? 'ok' : 'failed') },
      { name: 'reason', value: (row) => row.message },
    ],
    (row) => `${row.target} ${row.ok ? 'ok' : 'failed'}`,
  );
  const failed = results.filter(({ ok }) => !ok).map(({ target }) => target);
  if (failed.length > 0) throw new AppError('check_failed', { detail: failed.join(', ') });
};
