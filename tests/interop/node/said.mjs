// What both clients print: one JSON value a line, for the test that started them.
export const say = (what, value) => console.log(JSON.stringify({ what, value }));
