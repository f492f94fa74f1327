/** The machines that serve this site together. */
import type { HandlersOf } from './handlers-of.ts';

export const nodeHandlers: HandlersOf<'node.list' | 'node.drain' | 'node.forget'> = {
  'node.list': ({ services }) => services.nodes.list(),
  'node.drain': ({ services, input }) => services.nodes.drain(input.name ?? ''),
  'node.forget': ({ services, input }) => services.nodes.forget(input.name ?? '', input.write_off === true),
};
