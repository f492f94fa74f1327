/** The ledger's invariants. */

import { AppError } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import type { CommandRun } from '../../command.ts';

export const verify: CommandRun = async (context) => {
  const reports = await context.during((await context.client()).call('ledger.verify'));
  context.output.list(
    reports,
    [
      { name: 'id', value: (row) => row.id },
      { name: 'result', value: (row) => (row.violations === 0 ? 'ok' : `${row.violations} VIOLATIONS`) },
      { name: 'checked', value: (row) => String(row.checked), right: true },
      { name: 'invariant', value: (row) => textIn(row, context.language) },
      {
        name: 'examples',
        value: (row) =>
          [...row.examples, row.note === undefined ? [] : textIn(row.note, context.language)].flat().join('; '),
      },
    ],
    (row) => row.id,
  );
  const broken = reports.filter((report) => report.violations > 0);
  if (broken.length > 0) throw new AppError('check_failed', { detail: broken.map((report) => report.id).join(', ') });
};
