// Texts of the page of sign-ins.
export default {
  title: "My sign-ins",
  hint: "Each browser in which you are signed in. End those that you do not know, and change your password then.",
  messages: "Calendar links and messages",
  project: "Project",
  created: "Signed in",
  seen: "Last used",
  expires: "Ends",
  here: "this browser",
  other: "another project",
  end: "End",
  end_label: "End the sign-in of {when}",
  ended: "The sign-in is ended.",
};
