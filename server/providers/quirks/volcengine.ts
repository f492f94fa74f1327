/** VolcEngine's Ark: applications built on models have a chat of their own. */
import { providerBySlug } from '../catalogue.ts';
import { endpointFor } from '../provider.ts';
import type { Quirk } from '../quirk.ts';

/** https://www.volcengine.com/docs/82379/1526787 */
const bots = { models: /^bot-/, path: '/api/v3/bots/chat/completions' };

export const volcengine: Quirk = {
  addressFor(operation, baseUrl, model, other) {
    const provider = providerBySlug('volcengine');
    const path = operation === 'chat' && bots.models.test(model) ? { path: bots.path } : {};
    return provider === undefined ? null : endpointFor(provider, operation, { baseUrl, model, other, ...path });
  },
};
