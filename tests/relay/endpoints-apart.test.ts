/** A path belongs to one endpoint alone, so that it does not matter which of them is looked for first. */
import { expect, test } from 'vitest';
import { isBillingPath } from '../../server/relay/endpoints/billing.ts';
import { isModelListPath, isModelsPath } from '../../server/relay/endpoints/models.ts';
import { taskFor } from '../../server/relay/endpoints/tasks/routes.ts';
import { relayRouteFor, relayRoutes } from '../../server/relay/intake/routes.ts';

const models = ['gpt-4o', 'publishers/google/models/gemini-2.5-flash', 'mj', 'mj/submit/imagine', 'suno', 'a%2Fb'];
const paths = relayRoutes.flatMap(({ path }) =>
  path.includes('{model}') ? models.map((model) => path.replace('{model}', model)) : [path],
);

test.each(paths)('%s is a request for a model and nothing else', (path) => {
  expect(relayRouteFor(path)).toBeDefined();
  expect([taskFor(path), isModelsPath(path), isBillingPath(path), isModelListPath(path)]).toEqual([
    null,
    false,
    false,
    false,
  ]);
});
