/** Every endpoint's handler: parse is done, one service call, render is elsewhere. */

import type { EndpointId } from '../../contract/endpoints/index.ts';
import { accessTokenHandlers } from './access-token.ts';
import { accountHandlers } from './account.ts';
import { alertHandlers } from './alert.ts';
import { auditHandlers } from './audit.ts';
import { backupHandlers } from './backup.ts';
import { budgetHandlers } from './budget.ts';
import { channelHandlers } from './channel.ts';
import { familyHandlers } from './family.ts';
import type { HandlersOf } from './handlers-of.ts';
import { invoiceHandlers } from './invoice.ts';
import { linkHandlers } from './link.ts';
import { localHandlers } from './local.ts';
import { logHandlers } from './log.ts';
import { nodeHandlers } from './node.ts';
import { provisionHandlers } from './provision.ts';
import { ratioHandlers } from './ratio.ts';
import { redemptionHandlers } from './redemption.ts';
import { sessionHandlers } from './session.ts';
import { signInHandlers } from './sign-in.ts';
import { signInCodeHandlers } from './sign-in-code.ts';
import { siteHandlers } from './site.ts';
import { statementHandlers } from './statement.ts';
import { tokenHandlers } from './token.ts';
import { trafficHandlers } from './traffic.ts';
import { usageHandlers } from './usage.ts';
import { userHandlers } from './user.ts';
import { virtualModelHandlers } from './virtual-model.ts';
import { walletHandlers } from './wallet.ts';

export const handlers: HandlersOf<EndpointId> = {
  ...siteHandlers,
  ...sessionHandlers,
  ...accountHandlers,
  ...signInHandlers,
  ...signInCodeHandlers,
  ...accessTokenHandlers,
  ...alertHandlers,
  ...backupHandlers,
  ...auditHandlers,
  ...statementHandlers,
  ...userHandlers,
  ...tokenHandlers,
  ...ratioHandlers,
  ...redemptionHandlers,
  ...walletHandlers,
  ...invoiceHandlers,
  ...linkHandlers,
  ...usageHandlers,
  ...trafficHandlers,
  ...channelHandlers,
  ...virtualModelHandlers,
  ...budgetHandlers,
  ...familyHandlers,
  ...logHandlers,
  ...nodeHandlers,
  ...localHandlers,
  ...provisionHandlers,
};
