/** Virtual models and where requests for them would go. */
import { AppError } from '../../contract/errors.ts';
import type { HandlersOf } from './handlers-of.ts';
import { creator } from './token.ts';

export const virtualModelHandlers: HandlersOf<
  | 'virtual_model.list'
  | 'virtual_model.try'
  | 'virtual_model.get'
  | 'virtual_model.create'
  | 'virtual_model.update'
  | 'virtual_model.delete'
> = {
  'virtual_model.list': ({ services }) => services.virtualModels.list(),
  'virtual_model.try': async (call) => {
    const { services, input } = call;
    if (input.name === undefined || input.name === '') throw new AppError('params_invalid', { detail: 'name' });
    const caller = await services.routes.callerOf(input, await creator(call));
    return services.chains.explain({
      ...caller,
      name: input.name,
      promptTokens: input.prompt_tokens ?? 0,
      images: input.images ?? false,
      thinking: input.thinking ?? false,
      requestClass: input.class ?? null,
      agentType: input.agent_type || null,
      failure: input.failure ?? 'unavailable',
      signedTurn: input.signed_turn ?? false,
    });
  },
  'virtual_model.get': ({ services, input }) => services.virtualModels.get(input.id),
  'virtual_model.create': ({ services, input }) => services.virtualModels.create(input),
  'virtual_model.update': async ({ services, input: { id, ...change } }) =>
    (await services.virtualModels.update(id, change)).model,
  'virtual_model.delete': ({ services, input }) => services.virtualModels.remove(input.id),
};
