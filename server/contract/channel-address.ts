/** Where a channel's upstream is: an address of the web. Names and passwords in it are the upstream's own. */
export const isChannelAddress = (text: string): boolean =>
  /^https?:\/\/[^\s/?#]/i.test(text) && !/\s/.test(text) && URL.canParse(text);
