/** VolcEngine's Ark: applications built on models have a chat of their own. */

import type { Adapter } from '../adapter.ts';
import { endpointFor } from '../provider.ts';

/** https://www.volcengine.com/docs/82379/1526787 */
const bots = { models: /^bot-/, path: '/api/v3/bots/chat/completions' };

export const volcengine: Adapter = {
  endpoint({ provider, row, baseUrl, model, other }) {
    const path = row === 'chat' && bots.models.test(model) ? { path: bots.path } : {};
    const url = endpointFor(provider, row, { baseUrl, model, other, ...path });
    return url === null ? null : { url };
  },
};
