/** Module that `require` starts from. */
export const here: string = import.meta.url;
