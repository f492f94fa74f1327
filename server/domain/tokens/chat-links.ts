/** Links to chat pages. A page never gets the user's own key: it gets a child of the first enabled token, with the same limits, listed and revocable like any other. */
import type { Token } from '../../contract/entities.ts';
import { TokenStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { displayedKey } from '../../contract/token-key.ts';
import type { OptionsService } from '../options/service.ts';
import type { TokensService } from './service.ts';

const prefix = 'chat: ';
/** Bytes a token's name may have. */
const maxNameLength = 30;

interface ChatLink {
  readonly name: string;
  readonly url: string;
}

/** @throws AppError chat_links_unset, chat_link_invalid. */
function linkAt(saved: string, index: number): ChatLink {
  let entries: unknown;
  try {
    entries = JSON.parse(saved);
  } catch {
    throw new AppError('chat_link_invalid');
  }
  if (!Array.isArray(entries) || entries.length === 0) throw new AppError('chat_links_unset');
  const links = entries.flatMap((entry: unknown) =>
    typeof entry === 'object' && entry !== null ? Object.entries(entry) : [],
  );
  const [name, url] = links[index] ?? [];
  if (name === undefined || typeof url !== 'string' || !URL.canParse(url.replace(/\{\w+\}/g, '')))
    throw new AppError('chat_link_invalid');
  return { name, url };
}

/** Whole characters that fit. */
function cut(name: string): string {
  const characters = [...name];
  while (Buffer.byteLength(characters.join('')) > maxNameLength) characters.pop();
  return characters.join('');
}

export function createChatLinks(deps: { readonly options: OptionsService; readonly tokens: TokensService }) {
  const { options, tokens } = deps;

  async function childOf(owner: number, name: string): Promise<Token> {
    const enabled = (await tokens.list(owner, 0, 100)).items.filter(({ status }) => status === TokenStatus.enabled);
    const parent = enabled.find((token) => token.kind === undefined && !token.name.startsWith(prefix));
    if (parent === undefined) throw new AppError('chat_token_none');
    return enabled.find((token) => token.name === name) ?? (await tokens.create(owner, { ...parent, name }));
  }

  return {
    /** `{address}` stays in the link while no ServerAddress is set: the browser knows how it came here. @param index place in the saved chats. @throws AppError chat_*. */
    async open(owner: number, index: number) {
      const { name, url } = linkAt(options.text('Chats'), index);
      const child = await childOf(owner, cut(`${prefix}${name}`));
      const site = options.get('ServerAddress');
      const address = site === '' ? '{address}' : encodeURIComponent(site);
      return {
        name,
        url: url.replaceAll('{address}', address).replaceAll('{key}', displayedKey(child.key)),
        token_name: child.name,
      };
    },
  };
}
