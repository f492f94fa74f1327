/** The machines that serve this site together. */
import type { HandlersOf } from './handlers-of.ts';

export const nodeHandlers: HandlersOf<'node.list' | 'node.drain' | 'node.forget'> = {
  'node.list': ({ services }) => services.nodes.list(),
  'node.drain': ({ services, input }) => services.nodes.drain(input.name ?? ''),
  'node.forget': ({ services, input: { name = '', write_off, when_settled } }) =>
    services.nodes.forget(name, write_off === true ? 'write-off' : when_settled === true ? 'when-settled' : 'none'),
};
