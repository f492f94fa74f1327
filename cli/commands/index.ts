/** Every command, one row each. */
import type { CommandRow } from '../command.ts';
import { accessTokenRows } from './access-token/rows.ts';
import { alertRows } from './alert/rows.ts';
import { benchRows } from './bench/rows.ts';
import { budgetRows } from './budget/rows.ts';
import { channelRows } from './channel/rows.ts';
import { connectionRows } from './connection/rows.ts';
import { dataRows } from './data/rows.ts';
import { helpRows } from './help/rows.ts';
import { importRows } from './import/rows.ts';
import { invoiceRows } from './invoice/rows.ts';
import { linkRows } from './link/rows.ts';
import { logRows } from './logs/rows.ts';
import { modelRows } from './model/rows.ts';
import { nodeRows } from './node/rows.ts';
import { optionRows } from './option/rows.ts';
import { paymentRows } from './payment/rows.ts';
import { provisioningRows } from './provisioning/rows.ts';
import { ratioRows } from './ratios/rows.ts';
import { redemptionRows } from './redemption/rows.ts';
import { routeRows } from './route/rows.ts';
import { scheduleRows } from './schedule/rows.ts';
import { secretRows } from './secrets/rows.ts';
import { siteRows } from './site/rows.ts';
import { statementRows } from './statement/rows.ts';
import { tagRows } from './tag/rows.ts';
import { taskRows } from './tasks/rows.ts';
import { tokenRows } from './token/rows.ts';
import { userRows } from './user/rows.ts';

export const commands: readonly CommandRow[] = [
  ...siteRows,
  ...channelRows,
  ...tagRows,
  ...tokenRows,
  ...accessTokenRows,
  ...userRows,
  ...budgetRows,
  ...redemptionRows,
  ...paymentRows,
  ...invoiceRows,
  ...linkRows,
  ...optionRows,
  ...ratioRows,
  ...modelRows,
  ...routeRows,
  ...logRows,
  ...statementRows,
  ...scheduleRows,
  ...alertRows,
  ...nodeRows,
  ...taskRows,
  ...dataRows,
  ...secretRows,
  ...provisioningRows,
  ...importRows,
  ...connectionRows,
  ...benchRows,
  ...helpRows(() => commands),
];
